"""The plugin of the page about sections, tables, pages and commands works as the page says."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from console.browser import ORIGIN, Browser
from support.clients.asgi import Request, exchange
from support.gateways.gateway import completed_here, run_here
from support.process.installed import Site

from sluicegate.admin.tokens import AdminTokens
from sluicegate.app import Gateway
from sluicegate.config import load_settings
from sluicegate.plugins import Registry
from sluicegate_testing.secrets import keep_secret

PAGE = Path(__file__).parents[2] / "docs/plugins/extending.md"
CONFIGURATION = """\
public_url: https://share.example
database: sqlite:///notes.db
signing_key: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk
catalogs: {raw: {type: paths}}
admin: {}
console: {}
audit: required
notes:
  longest: 30
"""
SHARES = """\
shares:
  sales: {schemas: {}}
  hidden: {schemas: {}}
recipients:
  acme: {shares: [sales]}
"""


@pytest.fixture
def folder(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with the section of the plugin, and two shares."""
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    site.install("notes", block[1], command="notes")
    (tmp_path / "gateway.yaml").write_text(CONFIGURATION)
    (tmp_path / "gateway.yaml").chmod(0o600)
    (tmp_path / "shares.yaml").write_text(SHARES)
    monkeypatch.chdir(tmp_path)
    run_here(tmp_path, "apply", "shares.yaml", "--yes")
    return tmp_path


def token(folder: Path) -> str:
    """A token of the recipient."""
    run_here(folder, "recipient", "rotate", "acme", "--profile", "acme.share")
    found: str = json.loads((folder / "acme.share").read_text())["bearerToken"]
    keep_secret(found)
    return found


@pytest.fixture
async def gateway(folder: Path) -> AsyncIterator[Gateway]:
    async with AsyncExitStack() as stack:
        settings = load_settings(folder / "gateway.yaml")
        yield await stack.enter_async_context(Gateway.running(settings))


def test_the_command_writes_a_note_of_the_allowed_length(folder: Path) -> None:
    written = run_here(folder, "notes", "sales", "Refreshed every hour.")
    assert written == "the note about sales is written\n"
    refused = completed_here(folder, "notes", "sales", "n" * 31)
    assert (refused.returncode, refused.stderr.count("a note has at most 30 characters")) == (2, 1)


async def test_recipients_read_notes_about_their_shares(folder: Path, gateway: Gateway) -> None:
    run_here(folder, "notes", "sales", "Refreshed every hour.")
    run_here(folder, "notes", "hidden", "Only for us.")
    header = ("authorization", f"Bearer {token(folder)}")
    app = gateway.asgi()
    found = await exchange(app, Request("GET", "/notes/sales", [header]))
    assert (found.status, found.json) == (200, {"note": "Refreshed every hour."})
    assert (await exchange(app, Request("GET", "/notes/hidden", [header]))).status == 404
    assert (await exchange(app, Request("GET", "/notes/sales"))).status == 401


async def test_requests_are_recorded_under_their_operation(folder: Path, gateway: Gateway) -> None:
    await exchange(gateway.asgi(), Request("GET", "/notes/sales"))
    records = run_here(folder, "audit", "search", "--json")
    assert [each["action"] for each in json.loads(records)][:1] == ["notes.getNote"]


async def test_administrators_of_all_shares_see_the_page(folder: Path, gateway: Gateway) -> None:
    run_here(folder, "notes", "sales", "<b>Refreshed</b>")
    admins = AdminTokens(gateway.parts.store, token_lifetime=1000)
    app = gateway.asgi()

    async def browser(name: str, *shares: str) -> Browser:
        made = Browser(app)
        await made.open("/console/login")
        secret = (await admins.create(name, "viewer", shares=shares or None)).token
        keep_secret(secret)
        await made.submit("Log in", token=secret)
        return made

    full, limited = await browser("ada"), await browser("bob", "sales")
    assert f"{ORIGIN}/console/plugins/notes" in full.page.links
    page = await full.open("/console/plugins/notes")
    assert page.heading == "Notes"
    assert "<b>Refreshed</b>" in page.text
    assert f"{ORIGIN}/console/plugins/notes" not in limited.page.links
    assert (await limited.send("GET", "/console/plugins/notes")).status == 403


def test_the_migration_is_a_step_of_its_command(folder: Path) -> None:
    lines = run_here(folder, "database", "migrate").splitlines()
    assert lines[1:] == ["the tables of the plugin 'notes' have migration 0001"]
    made = json.loads(run_here(folder, "database", "migrate", "--json"))
    assert made["plugins"] == {"notes": "0001"}
    assert Registry.load(load_settings(folder / "gateway.yaml")).types.migrations.keys() == {"notes"}


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("notes: 7", "gateway.yaml:8:8: expected a mapping"),
        ("notes: {type: notes}", "gateway.yaml:8:8: the section of a plugin has no key 'type'"),
        (
            "notes: {longst: 9}",
            "gateway.yaml:8:9: notes: unknown key 'longst'; did you mean",
        ),
        ("notes: {longest: 0}", "gateway.yaml:8:18: "),
        (
            "notes:\nplugins: [notes]",
            "gateway.yaml:8:1: the plugin 'notes' has this section and an entry of 'plugins'; remove",
        ),
        ("nots:", "gateway.yaml:8:1: unknown key 'nots'; did you mean 'notes'?"),
    ],
)
def test_problems_of_a_section_have_its_place(folder: Path, section: str, problem: str) -> None:
    file = folder / "gateway.yaml"
    file.write_text(CONFIGURATION.partition("notes:")[0] + section + "\n")
    for command in (["config", "check"], ["notes", "sales", "x"]):
        refused = completed_here(folder, *command)
        assert refused.returncode in (1, 2)
        assert problem in refused.stderr + refused.stdout


def test_a_section_that_is_not_a_mapping_is_one_problem(folder: Path) -> None:
    file = folder / "gateway.yaml"
    file.write_text(CONFIGURATION.replace("  longest: 30\n", "").replace("notes:", "notes: true"))
    refused = completed_here(folder, "config", "check")
    assert refused.stderr == "error: gateway.yaml:8:8: expected a mapping\n"


def test_the_schema_of_the_configuration_has_the_section(folder: Path) -> None:
    schema = json.loads(run_here(folder, "config", "schema"))
    own, nothing = schema["properties"]["notes"]["anyOf"]
    model = schema["$defs"][own["$ref"].rpartition("/")[2]]
    assert (list(model["properties"]), nothing) == (["longest"], {"type": "null"})
