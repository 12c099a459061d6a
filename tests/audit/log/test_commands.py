"""`sluicegate audit search`, `verify` and `export`, as operators run them."""

from __future__ import annotations

import asyncio
import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.audit.records import numbered

from sluicegate.audit.assembly import audit_log
from sluicegate.audit.chain import ChainPosition
from sluicegate.cli.main import run
from sluicegate.config.load import load_settings
from sluicegate.database import Store
from sluicegate.signing.load import load_keys

Command = Callable[..., tuple[int, str, str]]
_RECORDS = [
    numbered(0),
    numbered(1, actor="Globex", resource="sales.eu.visits"),
    numbered(2, action="listTables", resource="sales.eu", rule="policy: hours", outcome="refused"),
    numbered(3, actor_kind="admin", actor="root", action="putShare", changes=("=1+1", "-x")),
    numbered(4, share="other", resource="other.eu.orders", address="198.51.100.1", rule="=HYPERLINK()"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the database of a gateway that has written records."""
    folder = tmp_path_factory.mktemp("audit")
    configuration = folder / "gateway.yaml"
    configuration.write_text(
        f"""
database: sqlite:///{folder}/sluicegate.db
audit:
  sinks:
    - {{type: database}}
    - {{type: file, path: {folder}/files}}
"""
    )

    async def write() -> None:
        settings = load_settings(configuration)
        store = await Store.open(settings.database.get_secret_value())
        async with audit_log(settings, load_keys(settings), store, lambda _: None) as log:
            for record in _RECORDS:
                await log.write(record)
        await store.aclose()

    asyncio.run(write())
    return folder


@pytest.fixture
def command(site: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command; its exit code, output and errors."""
    monkeypatch.chdir(site)

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capfd.readouterr()

    return run_command


def _ids(output: str) -> list[str]:
    return [each["request_id"] for each in json.loads(output)]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("", "r4 r3 r2 r1 r0"),
        ("--limit 2", "r4 r3"),
        ("--recipient GLOBEX", "r1"),
        ("--admin root", "r3"),
        ("--recipient root", ""),
        ("--share Sales", "r3 r2 r1 r0"),
        ("--resource sales.eu", "r3 r2 r1 r0"),
        ("--resource sales.eu.visits", "r1"),
        ("--resource sales.e", ""),
        ("--action listtables", "r2"),
        ("--outcome refused", "r2"),
        ("--rule policy", "r2"),
        ("--address 198.51.100.1", "r4"),
        ("--request-id r3", "r3"),
        ("--since 2100-01-01T00:00:00.003Z", "r4 r3"),
        ("--until 2100-01-01T00:00:00.001Z", "r0"),
        ("--since 7d --outcome failed", ""),
    ],
)
@pytest.mark.parametrize("where", ["database", "files"])
def test_a_search_lists_the_selected_records(
    command: Command, where: str, options: str, found: str
) -> None:
    files = ["--file", "files"] if where == "files" else []
    code, shown, _ = command("audit", "search", "--json", *options.split(), *files)
    assert (code, _ids(shown)) == (0, found.split())


def test_a_search_shows_a_table_to_people(command: Command) -> None:
    _, shown, _ = command("audit", "search")
    header, first, *_ = shown.splitlines()
    assert header.split()[:5] == ["RECORD", "TIME", "OUTCOME", "STATUS", "ACTOR"]
    assert first.split()[:2] == ["1.5", "2100-01-01T00:00:00.004Z"]
    assert command("audit", "search", "--outcome", "failed") == (0, "", "no records found\n")


def test_verification_prints_the_heads_of_all_sinks(command: Command) -> None:
    code, shown, errors = command("audit", "verify", "--json")
    chains = json.loads(shown)["chains"]
    assert (code, errors) == (0, "")
    assert [(each["chain"], each["records"], each["finding"]) for each in chains] == [
        ("database 1", 5, None),
        ("files 00", 5, None),
    ]
    heads = [each["head"] for each in chains]
    _, shown, _ = command("audit", "verify")
    assert all(f"head {head}" in shown for head in heads)
    expected = [option for head in heads for option in ("--expect", head)]
    assert command("audit", "verify", *expected)[0] == 0


def test_an_expected_head_that_is_missing_is_a_failure(command: Command) -> None:
    code, _, errors = command("audit", "verify", "--expect", str(ChainPosition(5, bytes(32))))
    assert code == 1
    assert "no chain contains record 5" in errors
    code, _, errors = command("audit", "verify", "--expect", "5")
    assert code == 2
    assert "SEQ:MAC" in errors


def test_a_changed_database_is_a_failure(command: Command, site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "sluicegate.db"
    with closing(sqlite3.connect(site / "sluicegate.db")) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    (tmp_path / "sluicegate.key").write_bytes((site / "sluicegate.key").read_bytes())
    (tmp_path / "sluicegate.key").chmod(0o600)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("DELETE FROM audit_chain_blocks WHERE first_seq = 3")
        connection.commit()
    (tmp_path / "gateway.yaml").write_text(f"database: sqlite:///{copy}\n")
    code, shown, errors = command("audit", "verify", "--config", str(tmp_path / "gateway.yaml"))
    assert code == 1
    assert "verified records 1 to 2" in shown
    assert errors == "error: database 1: removed: record 3 was removed\n"


def test_an_export_can_be_verified(command: Command, tmp_path: Path) -> None:
    for number, options in enumerate(([], ["--since", "2100-01-01T00:00:00.002Z"])):
        file = tmp_path / f"{number}.ndjson"
        code, _, errors = command("audit", "export", "-o", str(file), *options)
        assert code == 0
        assert f"exported {3 if options else 5} records" in errors
        assert file.stat().st_mode & 0o777 == 0o600
        assert command("audit", "verify", "--file", str(file))[0] == 0
        changed = file.read_text().replace("policy: hours", "policy: years")
        file.write_text(changed)
        code, _, errors = command("audit", "verify", "--file", str(file))
        assert (code, errors) == (1, f"error: {file.name} 1: changed: record 3 was changed\n")
    code, _, errors = command("audit", "export", "-o", str(file))
    assert (code, errors) == (1, f"error: {file} already exists; choose another file\n")


def test_the_first_record_of_an_export_is_verified(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "audit.ndjson"
    command("audit", "export", "-o", str(file), "--since", "2100-01-01T00:00:00.002Z")
    lines = file.read_text().splitlines(keepends=True)
    assert json.loads(lines[0]).keys() == {"after", "chain"}
    file.write_text("".join([lines[0], lines[1].replace("refused", "allowed"), *lines[2:]]))
    assert "record 3 was changed" in command("audit", "verify", "--file", str(file))[2]


def test_an_export_for_spreadsheets_has_no_formulas(command: Command) -> None:
    code, shown, _ = command("audit", "export", "--format", "csv")
    rows: list[dict[str, Any]] = list(csv.DictReader(shown.splitlines(keepends=True)))
    assert code == 0
    assert [row["seq"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[3]["changes"] == "'=1+1\n-x"
    assert rows[4]["rule"] == "'=HYPERLINK()"
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())


def test_an_empty_export_is_empty(command: Command) -> None:
    assert command("audit", "export", "--since", "2101-01-01T00:00:00Z")[:2] == (0, "")
