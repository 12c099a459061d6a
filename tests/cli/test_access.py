"""`sluicegate access`, as operators run it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.process.installed import installed_site
from support.servers.migrated import new_sqlite
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.cli.main import run
from sluicegate_testing.secrets import keep_secret

BROKEN = """
from sluicegate.api import PluginConfig, Policy, PolicyType, hookimpl

class Broken(Policy):
    async def allowed(self, principal, action, tables):
        raise RuntimeError("it fails")

@hookimpl
def sluicegate_register_policies():
    return [PolicyType("broken", PluginConfig, lambda config, context: Broken())]
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run a command where a table is shared with `acme`, but not with `rival`."""
    monkeypatch.chdir(tmp_path)
    lake = f"file://{tmp_path}/lake"
    settings = {
        "catalogs": {"raw": {"type": "paths"}},
        "storage": [{"type": "file", "prefix": lake}],
    }
    tables = {
        "orders": {"catalog": "raw", "table": f"{lake}/orders"},
        "lost": {"catalog": "raw", "table": f"{lake}/lost"},
    }
    shares = {
        "shares": {"sales": {"schemas": {"eu": {"tables": tables}}}},
        "recipients": {
            "acme": {"shares": ["sales"], "allow_from": ["10.0.0.0/8"]},
            "rival": {},
        },
    }
    DeltaFolder(tmp_path / "lake" / "orders").commit(0, protocol(), metadata(), add("a.parquet"))
    new_sqlite(tmp_path / "sluicegate.db")
    (tmp_path / "gateway.yaml").write_text(json.dumps(settings))
    (tmp_path / "shares.yaml").write_text(json.dumps(shares))
    assert run(["apply", "shares.yaml", "--offline"]) == 0
    assert run(["recipient", "rotate", "acme", "--profile", "acme.share"]) == 0
    keep_secret(json.loads((tmp_path / "acme.share").read_text())["bearerToken"])
    capfd.readouterr()

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run(["access", *arguments])
        return code, *capfd.readouterr()

    return run_command


def test_explain_shows_steps_ways_and_listings(command: Command) -> None:
    code, shown, _ = command("explain", "acme", "sales.eu.orders")
    lines = shown.splitlines()
    assert (code, lines[0]) == (0, "acme can read table sales.eu.orders")
    assert any(line.startswith("grant") and "is granted to 'acme'" in line for line in lines)
    assert any(line.startswith("url ") and " open " in line for line in lines)
    assert lines[-1] == "shown in listings of: Delta Sharing, Iceberg"


@pytest.mark.parametrize(
    ("arguments", "deciding"),
    [
        (["acme", "sales.eu.orders", "--from", "192.0.2.1"], "network"),
        (["rival", "sales.eu.orders"], "grant"),
        (["acme", "sales.eu.orders", "--action", "dir"], None),
        (["acme", "sales.eu.lost"], None),
    ],
)
def test_exit_code_1_is_for_access_that_is_refused(
    command: Command, arguments: list[str], deciding: str | None
) -> None:
    code, shown, _ = command("explain", *arguments, "--json")
    found = json.loads(shown)
    assert (code, found["allowed"]) == (1, False)
    refused = [step["name"] for step in found["steps"] if step["outcome"] == "refused"]
    assert deciding is None or deciding in refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "acm", "sales.eu.orders"], "no recipient 'acm'; did you mean 'acme'?"),
        (["explain", "acme", "sale.eu.orders"], "no share 'sale'; did you mean 'sales'?"),
        (["explain", "acme", "sales.eu.order"], "'order' in sales.eu; did you mean 'orders'?"),
        (["who-can", "sales.eu.order"], "'order' in sales.eu; did you mean 'orders'?"),
        (["explain", "acme", "orders"], "'orders' is not a name such as SHARE.SCHEMA.TABLE"),
        (["explain", "acme", "sales.eu.orders", "--from", "home"], "'home' is not an IP address"),
    ],
)
def test_exit_code_2_is_for_unknown_names(command: Command, arguments: list[str], message: str) -> None:
    code, shown, errors = command(*arguments)
    assert (code, shown) == (2, "")
    assert message in errors


def test_who_can_lists_the_recipients_of_the_share(command: Command) -> None:
    code, shown, _ = command("who-can", "sales.eu.orders", "--json")
    found = json.loads(shown)
    [reader] = found["readers"]
    assert (code, found["path"], reader["recipient"]) == (0, "sales.eu.orders", "acme")
    assert (reader["allowed"], reader["ways"]) == (True, ["url", "iceberg"])
    assert "10.0.0.0/8" in reader["reason"]
    assert command("who-can", "sales.eu.lost")[0] == 1


def test_offline_needs_no_storage(command: Command, tmp_path: Path) -> None:
    (tmp_path / "lake" / "orders").rename(tmp_path / "moved")
    code, shown, _ = command("explain", "acme", "sales.eu.orders", "--offline")
    assert code == 0
    assert "WAY" not in shown
    assert command("who-can", "sales.eu.orders", "--offline")[0] == 0


def test_a_policy_that_fails_is_named_without_a_traceback(command: Command, tmp_path: Path) -> None:
    configured = json.loads((tmp_path / "gateway.yaml").read_text())
    policies = {"plugins": ["broken"], "policies": [{"type": "broken"}]}
    (tmp_path / "gateway.yaml").write_text(json.dumps(configured | policies))
    (tmp_path / "site").mkdir()
    with installed_site(tmp_path / "site") as site:
        site.install("broken", BROKEN)
        code, shown, errors = command("explain", "acme", "sales.eu.orders")
    assert code == 1
    [step] = [line for line in shown.splitlines() if line.startswith("policy read")]
    assert "unavailable" in step
    assert "broken-1: RuntimeError" in step
    assert errors == ""


def test_control_characters_of_catalogs_are_not_printed(command: Command, tmp_path: Path) -> None:
    lake = f"file://{tmp_path}/lake"
    bell = {"catalog": "raw", "table": f"{lake}/\x1b]0;title\x07"}
    shares = {"shares": {"sales": {"schemas": {"eu": {"tables": {"bell": bell}}}}}}
    (tmp_path / "shares.yaml").write_text(json.dumps(shares))
    assert run(["apply", "shares.yaml", "--offline"]) == 0
    code, shown, _ = command("explain", "acme", "sales.eu.bell")
    assert code == 1
    explained = shown[shown.index("acme cannot") :]
    assert r"\x1b]0;title\x07" in explained
    assert "\x1b" not in explained
