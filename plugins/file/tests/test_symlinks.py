"""Symbolic links among signed files are found, regardless of cached results."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluicegate.api import PermissionDenied, Storage
from sluicegate_file import storage
from sluicegate_file.storage import Symlinks

MANY = [f"table/day=1/{number}.parquet" for number in range(50)]
FEW = MANY[:2]


@pytest.fixture
def day(root: Path) -> Path:
    """Create a directory of a table, with its first file."""
    day = root / "table" / "day=1"
    day.mkdir(parents=True)
    (root / "table" / "_delta_log").mkdir()
    (root / "other.parquet").write_text("secret")
    (day / "0.parquet").write_text("rows")
    return day


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set old modification times for all directories."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 60 * 10**9)


@pytest.mark.parametrize("paths", [FEW, MANY], ids=["few", "many"])
@pytest.mark.usefixtures("later")
def test_a_link_that_is_made_later_is_found(root: Path, day: Path, paths: list[str]) -> None:
    found = Symlinks(str(root))
    assert found.among(paths) == []
    (day / "1.parquet").symlink_to("../../other.parquet")
    assert found.among(paths) == [paths[1]]
    (day / "1.parquet").unlink()
    assert found.among(paths) == []


@pytest.mark.parametrize("paths", [FEW, MANY], ids=["few", "many"])
def test_a_link_that_is_made_in_the_same_moment_is_found(
    root: Path, day: Path, paths: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    same = os.lstat(day)
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: same if str(path) == str(day) else real(path))
    found = Symlinks(str(root))
    assert found.among(paths) == []
    (day / "1.parquet").symlink_to("../../other.parquet")
    assert found.among(paths) == [paths[1]]


@pytest.mark.usefixtures("later")
def test_a_directory_that_does_not_change_is_scanned_once(
    root: Path, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned = counted_scans(monkeypatch)
    found = Symlinks(str(root))
    for _ in range(3):
        assert found.among(MANY) == []
    assert scanned == [f"{day}/"]


@pytest.mark.usefixtures("later")
def test_a_directory_that_is_too_large_for_scans_is_judged_by_the_files_signed(
    root: Path, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_LARGEST", 3)
    for number in range(1, 6):
        (day / f"{number}.parquet").write_text("rows")
    scanned = counted_scans(monkeypatch)
    found = Symlinks(str(root))
    assert found.among(MANY) == []
    (day / "9.parquet").symlink_to("../../other.parquet")
    assert found.among(MANY) == [MANY[9]]
    assert len(scanned) == 1


@pytest.mark.usefixtures("later")
def test_no_more_directories_are_remembered_than_allowed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_MOST_REMEMBERED", 2)
    paths = [f"{directory}/{number}" for directory in "abcde" for number in range(9)]
    for directory in "abcde":
        (root / directory).mkdir()
    (root / "e" / "8").symlink_to("x")
    found = Symlinks(str(root))
    for _ in range(2):
        assert found.among(paths) == ["e/8"]
        assert len(found._scanned) <= 2


@pytest.mark.parametrize("link", ["table", "table/day=1"])
def test_a_link_on_the_way_is_found(root: Path, day: Path, link: str) -> None:
    (root / link).rename(root / "moved")
    (root / link).symlink_to(root / "moved")
    assert Symlinks(str(root)).among([*MANY, "x"]) == MANY


@pytest.mark.parametrize("path", ["none/0", "other.parquet/0", "table/\0/0", "\0", "n" * 300, "table"])
def test_where_no_file_is_there_is_no_link(root: Path, day: Path, path: str) -> None:
    assert Symlinks(str(root)).among([path, *MANY]) == []


async def test_a_directory_that_cannot_be_listed_is_judged_by_the_files_signed(
    storage: Storage, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str) -> Iterator[os.DirEntry[str]]:
        raise PermissionError(path)

    monkeypatch.setattr(os, "scandir", refused)
    signed = await storage.presign([storage.prefix + path for path in MANY], 60)
    assert len(signed.urls) == len(MANY)
    (day / "1.parquet").symlink_to("../../other.parquet")
    with pytest.raises(PermissionDenied, match="contains a symbolic link"):
        await storage.presign([storage.prefix + path for path in MANY], 60)


def counted_scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records scanned directories."""
    scanned: list[str] = []
    real = os.scandir

    def counted(path: str) -> Iterator[os.DirEntry[str]]:
        scanned.append(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", counted)
    return scanned
