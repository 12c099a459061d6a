"""Nothing that is stored next to the sealed records of the audit log decides anything.

Someone without the key forges each column, and each attribute of a file. Verification reports it, or
neither the deletion of old records nor a search is affected.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Table, insert, select, update
from support.audit.records import KEYS, finding_in, numbered, opened, write_all
from support.servers.migrated import new_sqlite

from sluicegate.audit.assembly import _database_sink
from sluicegate.audit.chain import START
from sluicegate.audit.encoding import unpack
from sluicegate.audit.own_records import DELETED
from sluicegate.audit.reading.export import export_lines
from sluicegate.audit.reading.query import AuditQuery, stored_record
from sluicegate.audit.reading.search import search, search_files
from sluicegate.audit.sinks.files.sink import FileSink
from sluicegate.audit.verification.files import verify_path
from sluicegate.config.sections.audit import FileSinkSettings
from sluicegate.database import Store
from sluicegate.database.tables import audit_chain_blocks, audit_chains

_CHAIN = 1
_BLOCKS = 12
_OLD = numbered(0).at  # no record is older
_SECONDS = 365 * 86_400
_LONG = ("x" * 900,)


def _query(since: int | None, until: int | None) -> AuditQuery:
    return AuditQuery(
        since=None if since is None else numbered(since).at,
        until=None if until is None else numbered(until).at,
    )


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of blocks with one record each."""
    file = tmp_path_factory.mktemp("database") / "sluicegate.db"

    async def write() -> None:
        async with opened(new_sqlite(file)) as log:
            await write_all(log, range(_BLOCKS))

    asyncio.run(write())
    return file


@pytest.fixture
async def store(database: Path, tmp_path: Path) -> AsyncIterator[Store]:
    """A copy of this log."""
    copy = shutil.copy(database, tmp_path)
    opened_store = await Store.open(f"sqlite:///{copy}")
    yield opened_store
    await opened_store.aclose()


async def _lines(store: Store) -> set[bytes]:
    """All stored lines, also those of blocks that were moved to another chain."""
    async with store.read() as connection:
        blocks = (await connection.execute(select(audit_chain_blocks.c.records))).scalars()
        return {line for block in blocks for line in _unpacked(block)}


def _unpacked(block: bytes) -> list[bytes]:
    try:
        return unpack(block)
    except ValueError:
        return []


async def _delete_before(store: Store, oldest: int) -> None:
    sink = _database_sink(KEYS, store)
    try:
        await sink.delete_before(oldest)
    finally:
        await sink.aclose()


async def _searched(store: Store) -> list[list[int]]:
    """The records of a time span, as a search and an export find them."""
    query = _query(3, 9)
    lines = export_lines(store, {_CHAIN: START}, since=query.since, until=query.until)
    return [
        [each.seq async for each in search(store, KEYS, query)],
        [stored_record(each).seq async for each in lines if b'"seq"' in each],
    ]


def _key(table: Table) -> Column[int]:
    """The column that tells the rows of the chain apart."""
    return table.c.first_seq if table is audit_chain_blocks else table.c.chain


async def _set(store: Store, table: Table, key: int, **values: Any) -> None:
    async with store.append() as connection:
        await connection.execute(update(table).where(_key(table) == key).values(**values))


async def _values(store: Store, column: Column[Any]) -> dict[int, Any]:
    """The values of a column, by the key of the row."""
    key = _key(column.table)
    async with store.read() as connection:
        rows = await connection.execute(select(key.label("key"), column.label("value")).order_by(key))
        return {row.key: row.value for row in rows}


def _forged(column: Column[Any], value: Any) -> Iterator[Any]:
    """Other values of a column."""
    if isinstance(value, bytes):
        forged: tuple[Any, ...] = (b"", bytes(32), value[:-1] + bytes([value[-1] ^ 1]))
    else:
        forged = (-5, 1, value - 1, value + 1, 2**31 - 1)
    return (each for each in forged if each != value)


_UNSEALED = ("owner", "renewed_at")  # they decide which process writes, and nothing about records
_COLUMNS = [
    column
    for table in (audit_chain_blocks, audit_chains)
    for column in table.columns
    if column.name not in _UNSEALED
]
_HARMLESS = ("count", "first_at", "last_at", "mac")


@pytest.mark.parametrize("column", _COLUMNS, ids=str)
async def test_a_forged_column_is_reported_and_hides_and_deletes_nothing(
    store: Store, column: Column[Any]
) -> None:
    table, rows = column.table, await _values(store, column)
    keys = [*rows]
    intact, searched = await _lines(store), await _searched(store)
    assert isinstance(table, Table)
    for key in {keys[0], keys[len(keys) // 2], keys[-1]}:
        for forged in _forged(column, rows[key]):
            if column is _key(table) and forged in rows:
                continue
            await _set(store, table, key, **{column.name: forged})
            assert await finding_in(store) is not None, forged
            if column.name != "records":
                await _delete_before(store, _OLD)
                assert await _lines(store) == intact, forged
            if table is audit_chain_blocks and column.name in _HARMLESS:
                assert await _searched(store) == searched, forged
            now = forged if column is _key(table) else key
            await _set(store, table, now, **{column.name: rows[key]})
    assert await finding_in(store) is None


@pytest.mark.parametrize(
    "column", [each for each in audit_chain_blocks.columns if each.name != "records"]
)
async def test_a_deletion_of_old_records_takes_no_others_whatever_the_columns_say(
    store: Store, database: Path, tmp_path: Path, column: Column[Any]
) -> None:
    newer = {each for each in await _lines(store) if stored_record(each).seq > 4}
    rows = await _values(store, column)
    for key in (2, 5, 9):
        for number, forged in enumerate(_forged(column, rows[key])):
            if column is _key(audit_chain_blocks) and forged in rows:
                continue
            copy = shutil.copy(database, tmp_path / f"{key}-{number}.db")
            forged_store = await Store.open(f"sqlite:///{copy}")
            try:
                await _set(forged_store, audit_chain_blocks, key, **{column.name: forged})
                await _delete_before(forged_store, numbered(4).at)
                assert newer <= await _lines(forged_store), forged
            finally:
                await forged_store.aclose()


async def test_all_columns_of_times_together_hide_and_delete_nothing(store: Store) -> None:
    intact, searched = await _lines(store), await _searched(store)
    for forged in (1, 2**62):
        async with store.append() as connection:
            await connection.execute(update(audit_chain_blocks).values(first_at=forged, last_at=forged))
        assert await _searched(store) == searched
        await _delete_before(store, _OLD)
        assert await _lines(store) == intact
        finding = await finding_in(store)
        assert finding is not None
        assert (finding.kind, finding.seq) == ("label", 1)


@pytest.mark.parametrize("first_seq", [-5, 0, 13, 2**63 - 1])
async def test_a_block_outside_of_the_chain_is_reported(store: Store, first_seq: int) -> None:
    values = {"count": 1, "first_at": 1, "last_at": 1, "mac": bytes(32)}
    (line,) = [each for each in await _lines(store) if stored_record(each).seq == 3]
    async with store.append() as connection:
        row = insert(audit_chain_blocks).values(
            chain=_CHAIN, first_seq=first_seq, records=line, **values
        )
        await connection.execute(row)
    assert await finding_in(store) is not None
    assert {*range(4, 10)} <= {*(await _searched(store))[0]}
    if first_seq <= _BLOCKS + 1:  # no record follows the largest number
        await _delete_before(store, numbered(8).at)
        assert await finding_in(store) is not None


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of several files."""
    folder = tmp_path_factory.mktemp("files")

    async def write() -> None:
        sinks = {"sinks": [{"type": "file", "path": str(folder / "audit"), "max_size": 100_000}]}
        async with opened(new_sqlite(folder / "sluicegate.db"), sinks) as log:
            for start in range(0, 200, 50):
                records = (numbered(start + each, changes=_LONG) for each in range(50))
                await asyncio.gather(*(log.write(each) for each in records))

    asyncio.run(write())
    return folder / "audit"


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    """A copy of this log."""
    return Path(shutil.copytree(files, tmp_path / "audit"))


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.ndjson"))


def _records(folder: Path, names: str = "*.ndjson") -> set[bytes]:
    return {line for each in folder.glob(names) for line in each.read_bytes().splitlines()}


def _renamed(index: int, name: str) -> Callable[[Path], object]:
    return lambda folder: _segments(folder)[index].rename(folder / name)


def _copied(index: int, *names: str) -> Callable[[Path], object]:
    def copy(folder: Path) -> None:
        source = _segments(folder)[index].read_bytes()
        for name in names:
            (folder / name).write_bytes(source)

    return copy


def _empty(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).touch()


def _timed(at: int) -> Callable[[Path], object]:
    def touch(folder: Path) -> None:
        for path in folder.iterdir():
            os.utime(path, (at, at))

    return touch


def _split(folder: Path) -> None:
    for path in _segments(folder):
        for line in path.read_bytes().splitlines(keepends=True):
            part = folder / f"00-{stored_record(line).seq:012}.ndjson"
            part.write_bytes(line)


def _mode(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o777)


_UNREPORTED: dict[str, Callable[[Path], object]] = {
    "times of 1970": _timed(1),
    "times of 2200": _timed(7_258_118_400),
    "modes": _mode,
    "split": _split,
}
_REPORTED: dict[str, Callable[[Path], object]] = {
    "a smaller number": _renamed(1, "00-000000000002.ndjson"),
    "a larger number": _renamed(0, "00-000000000003.ndjson"),
    "the number 0": _renamed(0, "00-000000000000.ndjson"),
    "the last number": _renamed(0, "00-000000999999.ndjson"),
    "a name of a later file": _renamed(-1, "00-000000999999.ndjson"),
    "another chain": _renamed(0, "01-000000000001.ndjson"),
    "a name that is none": _renamed(0, "00-000000000001.ndjson.bak"),
    "copies": _copied(0, *(f"00-{number:012}.ndjson" for number in range(2, 12))),
    "copies at the end": _copied(0, *(f"00-{number:012}.ndjson" for number in range(900, 910))),
    "a copy in another chain": _copied(0, "01-000000000001.ndjson"),
    "an empty file at the end": _empty("00-000000999999.ndjson"),
    "an empty file in between": _empty("00-000000000009.ndjson"),
}


@pytest.mark.parametrize("forge", [*_UNREPORTED, *_REPORTED])
async def test_forged_attributes_of_files_are_reported_or_delete_nothing(
    folder: Path, forge: str
) -> None:
    found = [each.seq for each in search_files(folder, _query(3, 190), limit=500)]
    intact = _records(folder)
    (_UNREPORTED | _REPORTED)[forge](folder)
    findings = [each.finding for each in verify_path(folder, KEYS) if each.finding is not None]
    assert bool(findings) == (forge in _REPORTED)
    if not findings:
        assert [each.seq for each in search_files(folder, _query(3, 190), limit=500)] == found
    settings = FileSinkSettings(type="file", path=str(folder), max_size=100_000, keep=6)
    sink = FileSink.open(settings, KEYS, _SECONDS)
    try:
        await sink.delete_before(_OLD)
        await sink.append([])  # which also deletes the files that are too many
    finally:
        await sink.aclose()
    assert intact <= _records(folder, "*")  # also in a file whose name doesn't match
    assert DELETED not in {stored_record(each).record.action for each in _records(folder)}


async def test_a_file_that_comes_back_after_its_deletion_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.audit.verification.files._REMOVAL", 0)
    first, second, *_ = _segments(folder)
    content = first.read_bytes()
    oldest = stored_record(second.read_bytes().splitlines()[0]).record.at
    settings = FileSinkSettings(type="file", path=str(folder))
    sink = FileSink.open(settings, KEYS, _SECONDS)
    await sink.delete_before(oldest)
    await sink.aclose()
    assert not first.exists()
    (result,) = verify_path(folder, KEYS)
    assert result.finding is None
    first.write_bytes(content.replace(b'"allowed"', b'"refused"'))
    (result,) = verify_path(folder, KEYS)
    assert result.finding is not None
    assert (result.finding.kind, result.finding.seq) == ("label", 1)
    # It looks like the rest of a deletion during which the gateway was stopped.
    await FileSink.open(settings, KEYS, _SECONDS).aclose()
    assert not first.exists()
    (result,) = verify_path(folder, KEYS)
    assert result.finding is None
