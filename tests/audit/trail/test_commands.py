"""What commands change is recorded before they change it."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sluicegate.cli.main import build_cli

SHARES = {
    "shares": {"sales": {"comment": "Orders", "schemas": {"eu": {}}}},
    "recipients": {"acme": {"shares": ["sales"]}},
}


class Commands:
    """Commands on a configuration of an own folder."""

    def __init__(self, folder: Path) -> None:
        self._config = folder / "gateway.yaml"
        self.configure({})
        (folder / "shares.yaml").write_text(json.dumps(SHARES))
        self.folder = folder

    def configure(self, sections: dict[str, Any]) -> None:
        database = f"sqlite:///{self._config.parent}/gateway.db"
        settings = {"database": database, "signing_key": "k" * 32, **sections}
        self._config.write_text(json.dumps(settings))
        self._config.chmod(0o600)

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(build_cli(), ["--config", str(self._config), *arguments])

    def records(self) -> list[dict[str, Any]]:
        """All records, the oldest first."""
        found: list[dict[str, Any]] = json.loads(self.run("audit", "search", "--json").stdout)
        return sorted(found, key=lambda record: int(record["seq"]))


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    """Commands on an empty database."""
    return Commands(tmp_path)


@pytest.fixture
def applied(commands: Commands) -> Commands:
    """Commands on a database with a share and a recipient."""
    assert commands.run("apply", str(commands.folder / "shares.yaml"), "--offline").exit_code == 0
    return commands


def test_apply_is_recorded_before_and_with_each_change(applied: Commands) -> None:
    announced, record = applied.records()
    assert (announced["action"], announced["changes"]) == ("applySharesFile", [])
    assert record["actor_kind"] == "command"
    assert record["actor"] == getpass.getuser()
    assert (record["action"], record["outcome"], record["status"]) == (
        "applySharesFile",
        "allowed",
        None,
    )
    assert record["changes"] == [
        "+ share sales",
        "    comment: Orders",
        "+ schema sales.eu",
        "+ recipient acme",
        "+ grant sales to acme",
    ]
    assert applied.run("apply", str(applied.folder / "shares.yaml"), "--dry-run").exit_code == 0
    assert applied.run("recipient", "list").exit_code == 0
    assert len(applied.records()) == 2


def test_apply_without_changes_is_recorded_without_changes(applied: Commands) -> None:
    assert applied.run("apply", str(applied.folder / "shares.yaml"), "--offline").exit_code == 0
    assert [record["changes"] for record in applied.records()[2:]] == [[], []]


@pytest.mark.parametrize(
    ("arguments", "action", "resource", "changes"),
    [
        (
            ["recipient", "create", "new", "--profile", "-"],
            "createRecipient",
            "new",
            ["+ recipient new", "+ profile of recipient new"],
        ),
        (
            ["recipient", "create", "new", "--activation"],
            "createRecipient",
            "new",
            ["+ recipient new", "+ activation link of recipient new"],
        ),
        (
            ["recipient", "rotate", "acme", "--profile", "-"],
            "issueCredential",
            "acme",
            ["+ profile of recipient acme", "~ older credentials of recipient acme end"],
        ),
        (
            ["recipient", "revoke", "acme", "--yes"],
            "revokeRecipient",
            "acme",
            ["~ recipient acme: revoked; 0 credentials ended"],
        ),
        (["recipient", "restore", "acme"], "restoreRecipient", "acme", ["~ recipient acme: restored"]),
        (
            ["recipient", "delete", "acme", "--yes"],
            "deleteRecipient",
            "acme",
            ["- recipient acme", "- grant sales to acme"],
        ),
        (
            ["admin", "create", "ada", "--role", "viewer", "--share", "sales"],
            "createAdmin",
            "ada",
            ["+ administrator ada: viewer for sales"],
        ),
    ],
)
def test_a_command_records_what_it_changes(
    applied: Commands, arguments: Sequence[str], action: str, resource: str, changes: list[str]
) -> None:
    result = applied.run(*arguments)
    assert result.exit_code == 0, result.output
    record = applied.records()[-1]
    assert (record["action"], record["resource"], record["outcome"]) == (action, resource, "allowed")
    assert record["changes"] == changes
    assert "slg" not in json.dumps(record)


def test_a_change_that_fails_is_recorded_as_refused(applied: Commands) -> None:
    assert applied.run("admin", "delete", "nobody").exit_code == 1
    announced, refused = applied.records()[-2:]
    assert (announced["outcome"], refused["outcome"]) == ("allowed", "refused")
    assert (announced["action"], refused["action"]) == ("deleteAdmin", "deleteAdmin")
    assert refused["rule"] == "name"
    assert refused["changes"] == []


def test_a_change_that_cannot_be_recorded_is_not_made(applied: Commands) -> None:
    # A file stands where the directory of the audit log would be.
    applied.configure(
        {"audit": {"sinks": [{"type": "file", "path": str(applied.folder / "shares.yaml")}]}}
    )
    result = applied.run("recipient", "revoke", "acme", "--yes")
    assert result.exit_code == 1
    applied.configure({})
    shown = json.loads(applied.run("recipient", "show", "acme", "--json").stdout)
    assert shown["state"] != "revoked"


def test_without_an_audit_log_nothing_is_recorded(commands: Commands) -> None:
    commands.configure({"audit": "off"})
    assert commands.run("apply", str(commands.folder / "shares.yaml"), "--offline").exit_code == 0
    commands.configure({})
    assert commands.records() == []
