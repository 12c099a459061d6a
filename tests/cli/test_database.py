"""`sluicegate database`: migrations before a start, and copies of a SQLite database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sluicegate.cli.main import run
from sluicegate.database.migrate import HEAD

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gateway.yaml").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    return tmp_path


def migration(database: Path) -> str:
    with sqlite3.connect(database) as connection:
        found: str = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    connection.close()
    return found


def test_an_empty_database_is_migrated(folder: Path, capsys: Capture) -> None:
    assert run(["database", "migrate"]) == 0
    assert capsys.readouterr().out == f"the database has migration {HEAD}\n"
    assert migration(folder / "sluicegate.db") == HEAD


def test_a_backup_is_a_private_copy_of_the_database_and_its_key(folder: Path) -> None:
    run(["database", "migrate"])
    (folder / "sluicegate.key").touch(mode=0o600)
    (folder / "sluicegate.key").write_text("k" * 64)
    assert run(["database", "backup", "backups/today"]) == 0
    copies = sorted((folder / "backups" / "today").iterdir())
    assert [copy.name for copy in copies] == ["sluicegate.db", "sluicegate.key"]
    assert [copy.stat().st_mode & 0o777 for copy in copies] == [0o600, 0o600]
    assert (copies[0].parent.stat().st_mode & 0o777) == 0o700
    assert migration(copies[0]) == HEAD
    assert copies[1].read_text() == "k" * 64


def test_a_configured_key_is_not_part_of_a_backup(folder: Path) -> None:
    run(["database", "migrate"])
    (folder / "sluicegate.key").touch(mode=0o600)
    (folder / "key").touch(mode=0o600)
    (folder / "key").write_text("k" * 64)
    (folder / "gateway.yaml").write_text("signing_key: {file: key}")
    assert run(["database", "backup", "copy"]) == 0
    assert [copy.name for copy in (folder / "copy").iterdir()] == ["sluicegate.db"]


def test_a_backup_replaces_no_file(folder: Path, capsys: Capture) -> None:
    run(["database", "migrate"])
    (folder / "copy").mkdir()
    (folder / "copy" / "sluicegate.db").write_text("another")
    assert run(["database", "backup", "copy"]) == 1
    assert "copy/sluicegate.db already exists; choose another directory" in capsys.readouterr().err
    assert (folder / "copy" / "sluicegate.db").read_text() == "another"
    assert len(list((folder / "copy").iterdir())) == 1


@pytest.mark.parametrize(
    ("database", "message"),
    [
        ("sqlite:///absent.db", "the database absent.db does not exist yet"),
        ("postgresql://u:s3cret@h/d", "postgresql://h/d is not SQLite; back it up with pg_dump"),
    ],
)
def test_what_cannot_be_backed_up_is_reported(
    folder: Path, capsys: Capture, database: str, message: str
) -> None:
    (folder / "gateway.yaml").touch(mode=0o600)
    (folder / "gateway.yaml").chmod(0o600)
    (folder / "gateway.yaml").write_text(f"database: '{database}'")
    assert run(["database", "backup", "copy"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "s3cret" not in error
    assert not (folder / "copy").exists()
