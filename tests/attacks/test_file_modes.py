"""A setting that names the wrong file or directory changes nothing of it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sluicegate.api import ConfigurationError
from sluicegate.config import Settings
from sluicegate.config.served_address import announced
from sluicegate.database import Store
from sluicegate.database.backup import back_up
from sluicegate.database.private_files import keep_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def directory(path: Path) -> Path:
    path.mkdir()
    return path


def foreign_file(path: Path) -> Path:
    path.write_text("root:x:0:0::/root:/bin/sh\n")
    return path


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("create", [directory, foreign_file])
async def test_what_is_no_database_keeps_its_mode(
    tmp_path: Path, create: Callable[[Path], Path], linked: bool
) -> None:
    named = found = create(tmp_path / "found")
    found.chmod(0o777)
    if linked:
        named = tmp_path / "sluicegate.db"
        named.symlink_to(found)
    with pytest.raises(ConfigurationError, match=r"cannot be used|is a directory"):
        await Store.open(f"sqlite:///{named}")
    assert mode(found) == 0o777


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_link_next_to_a_database_changes_no_other_file(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / "sluicegate.db"
    file.touch(mode=0o600)
    victim = foreign_file(tmp_path / "victim")
    victim.chmod(0o644)
    file.with_name(file.name + suffix).symlink_to(victim)
    keep_private(str(file))
    assert mode(victim) == 0o644


async def test_a_database_with_another_name_keeps_its_mode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, other = tmp_path / "sluicegate.db", tmp_path / "other"
    await (await Store.open(f"sqlite:///{file}")).aclose()
    file.chmod(0o644)
    other.hardlink_to(file)
    await (await Store.open(f"sqlite:///{file}")).aclose()
    assert mode(other) == 0o644
    assert "it has several names; run chmod 600" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create files of other users")
async def test_a_database_of_another_user_keeps_its_mode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "sluicegate.db"
    await (await Store.open(f"sqlite:///{file}")).aclose()
    file.chmod(0o644)
    os.chown(file, 65534, -1)
    await (await Store.open(f"sqlite:///{file}")).aclose()
    assert mode(file) == 0o644
    assert "it belongs to another user; run chmod 600" in caplog.text


async def test_a_new_database_behind_a_link_is_private(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    before = os.umask(0)
    try:
        await (await Store.open(f"sqlite:///{tmp_path}/link.db")).aclose()
    finally:
        os.umask(before)
    assert mode(tmp_path / "real.db") == 0o600


@pytest.mark.parametrize("name", ["sluicegate.db", "sluicegate.address"])
def test_the_file_of_the_address_replaces_only_an_address(tmp_path: Path, name: str) -> None:
    database = tmp_path / name
    database.write_bytes(b"SQLite format 3\0")
    (tmp_path / "sluicegate.address").write_bytes(b"SQLite format 3\0")
    settings = Settings.model_validate({"database": f"sqlite:///{database}"})
    with announced(settings, "127.0.0.1", 8080):
        pass
    assert (tmp_path / "sluicegate.address").read_bytes() == b"SQLite format 3\0"


def test_a_backup_removes_only_its_own_draft(tmp_path: Path) -> None:
    database = tmp_path / "sluicegate.db"
    sqlite3.connect(database).close()
    draft = tmp_path / f".copy.db.{os.getpid()}"
    draft.write_text("of somebody else")
    with pytest.raises(ConfigurationError, match="cannot be created"):
        back_up(database, tmp_path / "copy.db")
    assert draft.read_text() == "of somebody else"
