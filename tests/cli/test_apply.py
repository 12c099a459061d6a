"""`sluicegate apply` in a terminal, in a pipeline, and for programs."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.process.terminal import run_in_terminal
from support.servers.migrated import new_sqlite

from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.commands import apply as apply_module
from sluicegate.cli.main import run
from sluicegate.database import Store

SHARES = """
shares: {sales: {comment: Daily, schemas: {eu: {}}}}
recipients: {acme: {shares: [sales]}}
"""
FEWER = "shares: {sales: {comment: Hourly}}\nrecipients: {acme: {}}\n"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run a command in a folder with an applied shares file, and with one that removes two entries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    new_sqlite(tmp_path / "sluicegate.db")
    (tmp_path / "gateway.yaml").write_text("catalogs: {raw: {type: paths}}\n")
    (tmp_path / "shares.yaml").write_text(SHARES)
    (tmp_path / "fewer.yaml").write_text(FEWER)

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capfd.readouterr()

    assert run_command("apply", "shares.yaml")[0] == 0
    return run_command


def type_in(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_shares_file_can_come_from_standard_input(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, FEWER.encode())
    code, shown, _ = command("apply", "-")
    assert (code, shown.splitlines()[-1]) == (0, "3 changes made")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"shares: {sales: {coment: x}}", "error: <stdin>:1:18: shares.sales: unknown key 'coment'"),
        (b"\xff", "standard input is not UTF-8 text"),
        (b"#" * 101, "standard input has more than"),
    ],
)
def test_bad_standard_input_is_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch, content: bytes, expected: str
) -> None:
    monkeypatch.setattr(apply_module, "_MAX_INPUT", 100)
    type_in(monkeypatch, content)
    code, shown, errors = command("apply", "-")
    assert (code, shown) == (1, "")
    assert expected in errors


def test_a_pipeline_gets_no_prompt(command: Command) -> None:
    assert command("apply", "fewer.yaml")[1].splitlines()[-1] == "3 changes made"


@pytest.mark.parametrize(
    ("options", "answer", "code", "left"),
    [
        ((), "y\n", 0, 0),
        ((), "n\n", 1, 2),
        (("--yes",), "", 0, 0),
    ],
)
def test_a_person_confirms_removals(
    command: Command, tmp_path: Path, options: tuple[str, ...], answer: str, code: int, left: int
) -> None:
    ended, shown = run_in_terminal("apply", "fewer.yaml", *options, folder=tmp_path, typed=answer)
    assert ended == code
    assert ("Apply 3 changes with 2 removals? [y/N]" in shown) is bool(answer)
    assert shown.count("- schema sales.eu") == 1
    assert command("apply", "shares.yaml", "--dry-run")[0] == (2 if left == 0 else 0)


def test_nothing_is_confirmed_without_removals(command: Command, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(SHARES.replace("Daily", "Hourly"))
    code, shown = run_in_terminal("apply", "more.yaml", folder=tmp_path)
    assert (code, shown.splitlines()[-1]) == (0, "1 change made")


async def test_only_confirmed_changes_are_applied(tmp_path: Path) -> None:
    (tmp_path / "shares.yaml").write_text(SHARES)
    file = read_shares_file(tmp_path / "shares.yaml", {"raw"})
    (tmp_path / "other.yaml").write_text("shares: {sales: {}}")
    other = read_shares_file(tmp_path / "other.yaml", {"raw"})
    store = await Store.open(f"sqlite:///{tmp_path}/gateway.db")
    try:
        confirmed = await apply_shares_file(store, file, dry_run=True)
        await apply_shares_file(store, other)
        with pytest.raises(ConfigurationError, match="has changed since the differences were shown"):
            await apply_shares_file(store, file, expected=confirmed)
        current = await apply_shares_file(store, file, dry_run=True)
        assert await apply_shares_file(store, file, expected=current) == current
    finally:
        await store.aclose()


def test_programs_get_the_changes_as_json(command: Command) -> None:
    code, shown, errors = command("apply", "fewer.yaml", "--dry-run", "--json")
    assert (code, errors) == (2, "")
    assert json.loads(shown) == {
        "applied": False,
        "changes": [
            {
                "action": "change",
                "kind": "share",
                "name": ["sales"],
                "fields": {"comment": {"before": "Daily", "after": "Hourly"}},
            },
            {"action": "remove", "kind": "schema", "name": ["sales", "eu"], "fields": {}},
            {"action": "remove", "kind": "grant", "name": ["acme", "sales"], "fields": {}},
        ],
        "untouched": [],
        "warnings": [],
    }
    assert json.loads(command("apply", "fewer.yaml", "--json")[1])["applied"] is True
