"""Chains in files: one for each writer, rotated, and continued after a crash."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from support.audit.records import KEY, KEYS, numbered, opened, write_all

from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.chain import ChainKeys
from sluicegate.audit.own_records import BROKEN, DELETED, REPAIRED
from sluicegate.audit.reading.query import StoredRecord, stored_record
from sluicegate.audit.sinks.files.sink import FileSink
from sluicegate.audit.verification.files import verify_path
from sluicegate.audit.verification.findings import VerifiedChain
from sluicegate.config.sections.audit import FileSinkSettings
from sluicegate.signing.keyring import KeyRing

_YEAR = 365 * 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The directory of the sink, which does not exist yet."""
    return tmp_path / "audit"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database, which the log does not use."""
    return f"sqlite:///{tmp_path}/sluicegate.db"


def _to(folder: Path, **more: Any) -> dict[str, Any]:
    return {"sinks": [{"type": "file", "path": str(folder), **more}]}


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.ndjson"))


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _modes(folder: Path) -> list[int]:
    return [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())]


def _emptied(folder: Path) -> Path:
    """The directory, without files."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    return folder


def _records(folder: Path) -> list[StoredRecord]:
    lines = [path.read_bytes().splitlines() for path in _segments(folder)]
    return [stored_record(line) for each in lines for line in each]


def _verified(folder: Path, keys: ChainKeys = KEYS) -> VerifiedChain:
    (result,) = verify_path(folder, keys)
    return result


def _found(folder: Path) -> tuple[str, int] | None:
    finding = _verified(folder).finding
    return None if finding is None else (finding.kind, finding.seq)


async def _written(url: str, folder: Path, *numbers: int, **more: Any) -> None:
    async with opened(url, _to(folder, **more)) as log:
        await write_all(log, numbers)


async def test_records_are_lines_that_only_the_owner_can_read(url: str, folder: Path) -> None:
    async with opened(url, _to(folder)) as log:
        await log.write(numbered(0))
        assert len(_records(folder)) == 1  # it is there when `write` returns
        await asyncio.gather(*(log.write(numbered(number)) for number in range(1, 100)))
    assert [each.record for each in _records(folder)] == [numbered(number) for number in range(100)]
    assert _modes(folder) == [0o700, 0o600, 0o600]
    assert (_verified(folder).records, _found(folder)) == (100, None)


async def test_a_chain_is_continued_by_the_next_process(url: str, folder: Path) -> None:
    await _written(url, folder, 0, 1)
    await _written(url, folder, 2, 3)
    assert [each.seq for each in _records(folder)] == [1, 2, 3, 4]
    assert _found(folder) is None


async def test_each_writer_has_its_own_chain(url: str, folder: Path) -> None:
    async with opened(url, _to(folder)) as first, opened(url, _to(folder)) as second:
        await asyncio.gather(write_all(first, range(10)), write_all(second, range(10, 20)))
    results = list(verify_path(folder, KEYS))
    assert [(each.chain, each.records, each.finding) for each in results] == [
        ("files 00", 10, None),
        ("files 01", 10, None),
    ]


async def test_files_are_rotated_and_the_chain_spans_them(url: str, folder: Path) -> None:
    long = ("x" * 900,)
    async with opened(url, _to(folder, max_size=100_000, keep=3)) as log:
        for start in range(0, 600, 50):
            await asyncio.gather(
                *(log.write(numbered(start + each, changes=long)) for each in range(50))
            )
    sizes = [file.stat().st_size for file in _segments(folder)]
    assert sum(sizes) <= 300_000 < sum(sizes) + 100_000
    assert max(sizes) <= 100_000
    records = _records(folder)
    assert records[0].seq > 1
    assert [each.seq for each in records] == list(range(records[0].seq, records[-1].seq + 1))
    assert DELETED in {each.record.action for each in records}
    result = _verified(folder)
    assert (result.finding, result.first, result.head.seq) == (None, records[0].seq, records[-1].seq)


async def test_old_files_are_deleted_and_the_rest_is_verified(url: str, folder: Path) -> None:
    long = ("x" * 900,)
    settings = FileSinkSettings(type="file", path=str(folder), max_size=100_000)
    async with opened(url, _to(folder, max_size=100_000)) as log:
        for start in range(0, 400, 50):
            await asyncio.gather(
                *(log.write(numbered(start + each, changes=long)) for each in range(50))
            )
    files = _segments(folder)
    third = stored_record(files[2].read_bytes().splitlines()[0]).record
    sink = FileSink.open(settings, KEYS, _YEAR)
    await sink.delete_before(third.at)
    assert not any(file.exists() for file in files[:2])
    assert all(file.exists() for file in files[2:])
    assert _records(folder)[-1].record.action == DELETED
    assert _found(folder) is None
    await sink.delete_before(numbered(400).at)  # also the file that is written
    await sink.aclose()
    assert [each.record.action for each in _records(folder)] == [DELETED]
    assert _found(folder) is None


async def test_files_of_writers_that_ended_are_deleted_too(url: str, folder: Path) -> None:
    async with opened(url, _to(folder)) as first, opened(url, _to(folder)) as second:
        await write_all(first, range(3))
        await write_all(second, range(3))
    sink = FileSink.open(FileSinkSettings(type="file", path=str(folder)), KEYS, _YEAR)
    await sink.delete_before(numbered(3).at)
    await sink.aclose()
    assert [each.record.action for each in _records(folder)] == [DELETED, DELETED]
    assert all(each.finding is None for each in verify_path(folder, KEYS))


@pytest.mark.parametrize("cut", [1, 40, 300])
async def test_an_incomplete_last_line_is_removed_and_recorded(
    url: str, folder: Path, cut: int
) -> None:
    await _written(url, folder, 0, 1, 2)
    (file,) = _segments(folder)
    head = folder / "00.head"
    before = head.read_bytes()
    await _written(url, folder, 3)
    head.write_bytes(before)  # the process ended before it wrote the head
    os.truncate(file, file.stat().st_size - cut)
    torn = file.read_bytes().rpartition(b"\n")[2]
    assert torn
    await _written(url, folder, 4)
    records = _records(folder)
    assert [each.record.action for each in records[3:]] == [REPAIRED, "queryTable"]
    assert records[3].record.issued["removed"] == torn.decode()
    assert [each.record.request_id for each in records if each.record.request_id] == [
        "r0",
        "r1",
        "r2",
        "r4",
    ]
    assert _found(folder) is None


async def test_records_behind_the_head_belong_to_the_chain(url: str, folder: Path) -> None:
    await _written(url, folder, 0)
    before = (folder / "00.head").read_bytes()
    await _written(url, folder, 1, 2)
    (folder / "00.head").write_bytes(before)
    assert _found(folder) is None
    await _written(url, folder, 3)
    assert [each.seq for each in _records(folder)] == [1, 2, 3, 4]
    assert _found(folder) is None


async def test_a_removed_end_is_found_forever(url: str, folder: Path) -> None:
    await _written(url, folder, 0, 1, 2)
    (file,) = _segments(folder)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]))
    assert _found(folder) == ("cut off", 3)
    await _written(url, folder, 3)
    assert _found(folder) == ("removed", 3)


async def test_a_removed_or_changed_head_is_found_forever(url: str, folder: Path) -> None:
    for change in (Path.unlink, lambda head: head.write_bytes(b"9:" + bytes(510))):
        await _written(url, _emptied(folder), 0, 1, 2)
        change(folder / "00.head")
        assert _found(folder) == ("head", 3)
        await _written(url, folder, 3)
        assert _found(folder) == ("broken", 4)
        assert _records(folder)[3].record.action == BROKEN


async def test_a_line_that_is_not_a_record_is_found_and_does_not_stop_the_log(
    url: str, folder: Path
) -> None:
    await _written(url, folder, 0, 1)
    (file,) = _segments(folder)
    with file.open("ab") as opened_file:
        opened_file.write(b'{"seq":3,"garbage":true}\n')
    assert _found(folder) == ("changed", 3)
    await _written(url, folder, 2)
    assert _found(folder) == ("changed", 3)
    assert stored_record(file.read_bytes().splitlines()[-1]).record == numbered(2)


async def test_a_removed_file_is_found(url: str, folder: Path) -> None:
    long = ("x" * 900,)
    async with opened(url, _to(folder, max_size=100_000)) as log:
        for start in range(0, 300, 50):
            await asyncio.gather(
                *(log.write(numbered(start + each, changes=long)) for each in range(50))
            )
    files = _segments(folder)
    first_seq = int(files[1].stem.partition("-")[2])
    files[1].unlink()
    assert _found(folder) == ("removed", first_seq)


async def test_keys_can_rotate(url: str, folder: Path) -> None:
    newer = KeyRing((b"the second key, which is long enough", KEY))
    await _written(url, folder, 0)
    async with opened(url, _to(folder), keys=newer) as log:
        await log.write(numbered(1))
    assert _verified(folder, ChainKeys(newer)).finding is None


async def test_a_directory_that_cannot_be_used_stops_the_start(url: str, folder: Path) -> None:
    file = (_emptied(folder) / "file").absolute()
    os.close(os.open(file, os.O_CREAT))
    with pytest.raises(ConfigurationError, match=r"audit log can't be written to .*file.*sinks"):
        await _written(url, file, 0)


async def test_a_link_in_place_of_a_head_is_not_followed(url: str, folder: Path) -> None:
    victim = folder.parent / "victim"
    (_emptied(folder) / "00.head").symlink_to(victim)
    with pytest.raises(ConfigurationError):
        await _written(url, folder, 0)
    assert victim.name not in _names(folder.parent)


def test_a_directory_without_a_log_is_named(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="contains no files of an audit log"):
        list(verify_path(_emptied(folder), KEYS))
