"""`sluicegate recipient show` and `delete`, as operators run them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.process.terminal import run_in_terminal
from support.servers.migrated import new_sqlite

from sluicegate.cli.main import run

CONFIG = """
catalogs: {raw: {type: paths}}
authentication:
  oidc: [{issuer: "https://id.example.com", audience: gateway, recipients: {acme-client: acme}}]
"""
SHARES = """
shares: {sales: {from: {catalog: raw}}}
recipients: {acme: {shares: [sales], comment: The acme, properties: {country: DE}, token_lifetime: 30d}}
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run a command in a folder whose database has a recipient; its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    new_sqlite(tmp_path / "sluicegate.db")
    (tmp_path / "gateway.yaml").write_text(CONFIG)
    (tmp_path / "shares.yaml").write_text(SHARES)

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capfd.readouterr()

    assert run_command("apply", "shares.yaml", "--offline")[0] == 0
    assert run_command("recipient", "rotate", "acme", "--oauth")[0] == 0
    return run_command


def test_a_recipient_is_shown_without_secrets(command: Command, tmp_path: Path) -> None:
    profile = json.loads((tmp_path / "acme.share").read_text())
    code, shown, _ = command("recipient", "show", "ACME")
    assert code == 0
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert {
        "state: active",
        "shares: sales",
        "networks: all",
        "property: country = DE",
        "OIDC identity: sub = acme-client of https://id.example.com",
    } <= {*lines}
    assert lines[-1].startswith(f"{profile['clientId']} oauth valid ")
    assert profile["clientSecret"] not in shown


def test_programs_get_the_same_as_json(command: Command, tmp_path: Path) -> None:
    profile = json.loads((tmp_path / "acme.share").read_text())
    printed = command("recipient", "show", "acme", "--json")[1]
    shown = json.loads(printed)
    assert profile["clientSecret"] not in printed
    [credential] = shown["credentials"]
    assert (credential["id"], credential["state"]) == (profile["clientId"], "valid")
    assert credential["created_at"] < credential["expires_at"]
    assert shown["oidc"] == [
        {"issuer": "https://id.example.com", "claim": "sub", "values": ["acme-client"]}
    ]
    assert (shown["properties"], shown["revoked_at"], shown["token_lifetime"]) == (
        {"country": "DE"},
        None,
        30 * 86_400,
    )


@pytest.mark.parametrize("subcommand", ["show", "delete", "revoke", "rotate", "restore"])
def test_an_unknown_recipient_is_an_error_with_the_most_similar_name(
    command: Command, subcommand: str
) -> None:
    assert command("recipient", subcommand, "acmee") == (
        1,
        "",
        "error: there is no recipient 'acmee'; did you mean 'acme'?\n",
    )


def test_nothing_is_deleted_where_nobody_can_confirm(command: Command) -> None:
    code, shown, errors = command("recipient", "delete", "acme")
    assert (code, shown) == (1, "")
    assert "Delete recipient acme with 1 valid token, which can read sales?" in errors
    assert "standard input is not a terminal: add --yes" in errors
    assert command("recipient", "show", "acme")[0] == 0


def test_a_confirmed_deletion_removes_the_recipient(command: Command) -> None:
    deleted = command("recipient", "delete", "acme", "--yes")
    assert deleted == (0, "acme: deleted, with 1 valid token\n", "")
    assert command("recipient", "show", "acme")[0] == 1


@pytest.mark.parametrize(
    ("answer", "code", "last", "left"),
    [
        ("y\n", 0, "acme: deleted, with 1 valid token", 1),
        ("\n", 1, "nothing changed", 0),
        ("\x03", 130, "", 0),
    ],
    ids=["yes", "no", "ctrl-c"],
)
def test_a_person_confirms_a_deletion(
    command: Command, tmp_path: Path, answer: str, code: int, last: str, left: int
) -> None:
    ended, shown = run_in_terminal("recipient", "delete", "acme", folder=tmp_path, typed=answer)
    assert ended == code
    assert shown.rstrip("\n").endswith(last)
    assert "Traceback" not in shown
    assert command("recipient", "show", "acme")[0] == left


def test_a_person_confirms_a_revocation(command: Command, tmp_path: Path) -> None:
    code, shown = run_in_terminal("recipient", "revoke", "acme", folder=tmp_path, typed="n\n")
    assert (code, "Revoke access of recipient acme with 1 valid token" in shown) == (1, True)
    assert json.loads(command("recipient", "show", "acme", "--json")[1])["state"] == "active"
    assert command("recipient", "revoke", "acme")[:2] == (
        0,
        "acme: access revoked, with 1 valid token\n",
    )


def test_programs_get_the_result_of_each_change_as_json(command: Command, tmp_path: Path) -> None:
    created = json.loads(command("recipient", "create", "beta", "--json")[1])
    assert created.pop("expires_at").endswith("Z")
    assert created == {"recipient": "beta", "profile": "beta.share", "client_id": None}
    rotated = json.loads(command("recipient", "rotate", "beta", "--oauth", "--force", "--json")[1])
    profile = json.loads((tmp_path / "beta.share").read_text())
    assert rotated["client_id"] == profile["clientId"]
    revoked = json.loads(command("recipient", "revoke", "beta", "--sessions", "--json")[1])
    assert revoked == {
        "recipient": "beta",
        "state": "revoked",
        "ended_credentials": 2,
        "sessions": [],
    }
    restored = json.loads(command("recipient", "restore", "beta", "--json")[1])
    assert restored == {"recipient": "beta", "state": "active"}
    assert command("recipient", "show", "nobody", "--json")[1:] == (
        "",
        "error: there is no recipient 'nobody'; known: acme, beta\n",
    )
