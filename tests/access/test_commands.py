"""`sluicegate apply` and `sluicegate recipient`, as operators run them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.process.clock import Clock
from support.servers.migrated import new_sqlite

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.bearer_tokens import BearerTokens
from sluicegate.access.grants import Grants
from sluicegate.api.errors import Unauthenticated
from sluicegate.cli.main import run
from sluicegate.database import Store
from sluicegate_testing.fakes import authentication_request as asking
from sluicegate_testing.secrets import keep_secret

SHARES = """
shares: {sales: {schemas: {eu: {tables: {orders: {catalog: raw, table: "file:///srv/orders"}}}}}}
recipients: {acme: {shares: [sales], comment: The acme}}
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration and a shares file, to work in."""
    monkeypatch.chdir(tmp_path)
    new_sqlite(tmp_path / "sluicegate.db")
    (tmp_path / "gateway.yaml").write_text(
        "public_url: https://share.example.com\ncatalogs: {raw: {type: paths}}\n"
    )
    (tmp_path / "shares.yaml").write_text(SHARES)
    return tmp_path


@pytest.fixture
def command(folder: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command; its exit code, output and errors."""

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capfd.readouterr()

    return run_command


def test_apply_shows_what_it_did(command: Command) -> None:
    code, shown, _ = command("apply", "shares.yaml", "--dry-run")
    assert (code, shown.splitlines()[-1]) == (2, "5 changes to make")
    code, shown, _ = command("apply", "shares.yaml")
    assert (code, shown.splitlines()[0], shown.splitlines()[-1]) == (
        0,
        "+ share sales",
        "5 changes made",
    )
    for options in ((), ("--dry-run",)):
        unchanged = command("apply", "shares.yaml", "--offline", *options)
        assert unchanged == (0, "nothing to change\n", "")


def test_apply_removes_only_on_request(command: Command, folder: Path) -> None:
    command("apply", "shares.yaml")
    (folder / "shares.yaml").write_text("shares: {sales: {}}")
    assert "- table sales.eu.orders" in command("apply", "shares.yaml")[1]
    assert "recipient acme is not in the file" in command("apply", "shares.yaml")[1]
    assert "- recipient acme" in command("apply", "shares.yaml", "--prune")[1]


def test_a_bad_file_changes_nothing_and_says_where_it_is_wrong(command: Command, folder: Path) -> None:
    command("apply", "shares.yaml")
    (folder / "bad.yaml").write_text(SHARES.replace("raw", "rwa").replace("sales:", "other:"))
    code, shown, errors = command("apply", "bad.yaml")
    assert (code, shown) == (1, "")
    assert errors == (
        "error: bad.yaml:2:60: there is no catalog 'rwa' in the configuration; did you mean 'raw'?\n"
    )
    assert command("apply", "shares.yaml")[1] == "nothing to change\n"


def test_a_declared_recipient_gets_its_first_profile_by_rotate(command: Command, folder: Path) -> None:
    command("apply", "shares.yaml")
    code, shown, _ = command("recipient", "rotate", "acme", "--profile", "given.share")
    assert (code, shown.startswith("acme: profile written to given.share; it expires ")) == (0, True)
    profile = json.loads((folder / "given.share").read_text())
    assert profile["endpoint"] == "https://share.example.com/delta-sharing"
    assert profile["bearerToken"] not in shown
    assert (folder / "given.share").stat().st_mode & 0o777 == 0o600


def test_oauth_writes_a_profile_of_version_2(command: Command, folder: Path) -> None:
    code, shown, _ = command("recipient", "create", "acme", "--oauth")
    assert (code, shown.startswith("acme: profile written to acme.share; it expires ")) == (0, True)
    first = json.loads((folder / "acme.share").read_text())
    assert (first["shareCredentialsVersion"], first["type"]) == (2, "oauth_client_credentials")
    assert first["clientSecret"] not in shown
    command("recipient", "rotate", "acme", "--oauth", "--force")
    second = json.loads((folder / "acme.share").read_text())
    assert second["clientId"] != first["clientId"]
    assert command("recipient", "rotate", "acme", "--profile", "v1.share")[0] == 0
    assert json.loads((folder / "v1.share").read_text())["shareCredentialsVersion"] == 1
    assert json.loads(command("recipient", "list", "--json")[1])[0]["kinds"] == ["bearer", "oauth"]


def test_a_revoked_recipient_is_listed_so_until_it_is_let_in_again(command: Command) -> None:
    command("recipient", "create", "acme", "--profile", "-")
    revoked = command("recipient", "revoke", "acme")
    assert revoked[:2] == (0, "acme: access revoked, with 1 valid token\n")
    row = command("recipient", "list")[1].splitlines()[1].split()
    assert row == ["acme", "-", "0", "revoked", "-"]
    assert command("recipient", "restore", "acme")[:2] == (0, "acme: access restored\n")
    assert json.loads(command("recipient", "list", "--json")[1])[0]["revoked_at"] is None


def test_a_profile_can_be_printed_instead(command: Command, folder: Path) -> None:
    code, shown, errors = command("recipient", "create", "acme", "--profile", "-")
    assert (code, json.loads(shown)["shareCredentialsVersion"], errors) == (0, 1, "")
    assert not list(folder.glob("*.share"))


def test_a_profile_that_cannot_be_written_costs_no_token(command: Command, folder: Path) -> None:
    command("recipient", "create", "acme")
    before = (folder / "acme.share").read_text()
    code, _, errors = command("recipient", "rotate", "acme", "--grace", "0s")
    assert (code, errors) == (
        1,
        "error: acme.share already exists; choose another file or use --force\n",
    )
    assert json.loads(command("recipient", "list", "--json")[1])[0]["tokens"] == 1
    assert command("recipient", "rotate", "acme", "--force")[0] == 0
    assert (folder / "acme.share").read_text() != before


def test_recipients_are_listed_for_people_and_programs(command: Command) -> None:
    command("apply", "shares.yaml")
    command("recipient", "create", "beta", "--token-lifetime", "30d", "--comment", "Beta Ltd")
    _, shown, _ = command("recipient", "list")
    rows = [line.split() for line in shown.splitlines()]
    assert [row[:4] for row in rows] == [
        ["NAME", "SHARES", "TOKENS", "ACCESS"],
        ["acme", "sales", "0", "-"],
        ["beta", "-", "1", "bearer"],
    ]
    listed = json.loads(command("recipient", "list", "--json")[1])
    assert [(each["name"], each["shares"], each["comment"]) for each in listed] == [
        ("acme", ["sales"], "The acme"),
        ("beta", [], "Beta Ltd"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("create", "a/b"), 1, "error: a recipient's name cannot contain a slash"),
        (("create", "x", "--token-lifetime", "0s"), 1, "error: token_lifetime: input should be gr"),
        (("create", "x", "--token-lifetime", "366d"), 1, "lifetime: expected at most one year (365d)"),
        (("create", "x", "--token-lifetime", "soon"), 2, "expected a duration like 90d"),
        (("create", "x", "--profile", "absent/x.share"), 1, "error: absent/x.share cannot be written"),
        (("rotate", "absent"), 1, "error: there is no recipient 'absent'"),
        (("revoke", "absent"), 1, "error: there is no recipient 'absent'"),
        (("restore", "absent"), 1, "error: there is no recipient 'absent'"),
        (("create",), 2, "Missing argument 'NAME'"),
    ],
)
def test_wrong_commands_are_refused_and_leave_nothing(
    command: Command, folder: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    failed = command("recipient", *arguments)
    assert (failed[0], message in failed[2]) == (code, True)
    assert not list(folder.glob("*.share"))
    assert command("recipient", "list", "--json")[1] == "[]\n"


def test_a_database_failure_is_reported_to_the_operator(command: Command, folder: Path) -> None:
    command("apply", "shares.yaml")
    (folder / "sluicegate.db").write_bytes(b"no database at all" * 400)
    code, _, errors = command("recipient", "list")
    assert (code, errors) == (
        1,
        "error: the database sqlite:///sluicegate.db cannot be used: file is not a database\n",
    )


def test_a_running_gateway_sees_a_revocation_by_the_command(command: Command, folder: Path) -> None:
    command("recipient", "create", "acme")
    token = json.loads((folder / "acme.share").read_text())["bearerToken"]

    async def gateway() -> list[str]:
        store = await Store.open("sqlite:///sluicegate.db")
        clock = Clock(0)
        authentication = Authentication([BearerTokens(Grants(store, max_age=1, clock=clock))])
        seen = [(await authentication.authenticate(asking(f"Bearer {token}"))).name]
        await asyncio.to_thread(command, "recipient", "revoke", "acme")
        clock.advance(1)
        try:
            await authentication.authenticate(asking(f"Bearer {token}"))
        except Unauthenticated as error:
            seen.append(error.message)
        await store.aclose()
        return seen

    assert asyncio.run(gateway()) == [
        "acme",
        "the bearer token was revoked; ask the provider for a new profile",
    ]


def test_recipients_are_listed_whose_profiles_end_soon(command: Command) -> None:
    command("recipient", "create", "short", "--token-lifetime", "10d", "--profile", "-")
    command("recipient", "create", "long", "--token-lifetime", "20d", "--profile", "-")
    code, shown, _ = command("recipient", "list", "--ending", "14d", "--json")
    assert (code, [each["name"] for each in json.loads(shown)]) == (0, ["short"])
    assert "short" not in command("recipient", "list", "--ending", "9d")[1]
    assert command("recipient", "list", "--ending", "soon")[0] == 2


def test_an_activation_link_is_printed_alone_and_creates_no_profile(
    command: Command, folder: Path
) -> None:
    code, link, told = command("recipient", "create", "acme", "--activation")
    assert (code, told.startswith("acme: send this link")) == (0, True)
    assert re.fullmatch(r"https://share\.example\.com/activate\?token=slga_[0-9a-f]{48}\n", link)
    code, other, _ = command("recipient", "rotate", "acme", "--activation", "--grace", "1h")
    assert (code, other != link) == (0, True)
    assert list(folder.glob("*.share")) == []
    keep_secret(*(each.strip().partition("=")[2] for each in (link, other)))


@pytest.mark.parametrize("verb", ["create", "rotate"])
def test_an_activation_link_needs_no_profile_file(command: Command, verb: str) -> None:
    code, _, told = command("recipient", verb, "acme", "--activation", "--profile", "acme.share")
    assert (code, "leave out --profile" in told) == (2, True)
