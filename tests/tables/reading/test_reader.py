from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest
from support.tables.deltalog import DeltaFolder, add, metadata, protocol
from support.tables.snapshots import latest, paths

from sluicegate._util.lru import LRU
from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    NotFound,
    ObjectDirectory,
    TableFormat,
    UnsupportedOperation,
)
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.reading import reader as reader_module
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import Snapshot
from sluicegate.tables.versions import DescribedVersion

MIB = 1 << 20


class SlowFormat(DeltaFormat):
    """Delta, but each load waits until it is let through; counts the loads."""

    def __init__(self) -> None:
        self.loads: list[str] = []
        self.started = asyncio.Event()
        self.gate = asyncio.Event()

    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        await self._pass("latest" if previous is None else f"advance {previous.version}")
        return await super().latest(table, directory, previous)

    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        await self._pass(f"version {version}")
        return await super().at_version(table, directory, version)

    async def _pass(self, load: str) -> None:
        self.loads.append(load)
        self.started.set()
        await self.gate.wait()


@pytest.fixture
def format() -> SlowFormat:
    return SlowFormat()


@pytest.fixture
def reader(format: SlowFormat) -> TableReader:
    formats: dict[str, TableFormat] = {"delta": format}
    return TableReader(formats, MIB)


@pytest.fixture
def table(folder: DeltaFolder) -> DeltaFolder:
    folder.commit(0, protocol(), metadata(), add("0"), modified=1000)
    folder.commit(1, add("1"), modified=2000)
    folder.commit(2, add("2"), modified=3000)
    return folder


async def read(reader: TableReader, table: DeltaFolder) -> Snapshot:
    return await reader.latest(table.table(), table.directory)


async def test_concurrent_requests_load_a_table_once(
    reader: TableReader, format: SlowFormat, table: DeltaFolder
) -> None:
    requests = [asyncio.create_task(read(reader, table)) for _ in range(20)]
    await format.started.wait()
    format.gate.set()
    snapshots = await asyncio.gather(*requests)
    assert format.loads == ["latest"]
    assert all(snapshot is snapshots[0] for snapshot in snapshots)


@pytest.mark.parametrize("newer", [{"metadata_location": "v2"}, {"metadata_tag": "b"}])
async def test_a_reader_of_a_newer_state_does_not_get_the_one_loaded_for_others(
    reader: TableReader, format: SlowFormat, table: DeltaFolder, newer: dict[str, str]
) -> None:
    older = {"metadata_location": "v1", "metadata_tag": "a"}
    requests = [
        asyncio.create_task(reader.latest(table.table(**each), table.directory))
        for each in (older, older | newer)
    ]
    await format.started.wait()
    format.gate.set()
    await asyncio.gather(*requests)
    assert format.loads == ["latest", "latest"]


@pytest.mark.parametrize("cancelled", [0, 1])
async def test_a_cancelled_caller_does_not_fail_the_others(
    reader: TableReader, format: SlowFormat, table: DeltaFolder, cancelled: int
) -> None:
    requests = [asyncio.create_task(read(reader, table)) for _ in range(2)]
    await format.started.wait()
    requests.pop(cancelled).cancel()
    format.gate.set()
    assert (await requests[0]).version == 2
    assert format.loads == ["latest"]


async def test_a_load_that_nobody_waits_for_is_kept(
    reader: TableReader, format: SlowFormat, table: DeltaFolder
) -> None:
    request = asyncio.create_task(read(reader, table))
    await format.started.wait()
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    later = asyncio.create_task(read(reader, table))
    format.gate.set()
    assert (await later).version == 2
    assert format.loads == ["latest"]


async def test_a_failed_load_fails_all_who_wait_and_is_tried_again(
    reader: TableReader, format: SlowFormat, folder: DeltaFolder
) -> None:
    requests = [asyncio.create_task(read(reader, folder)) for _ in range(3)]
    await format.started.wait()
    format.gate.set()
    outcomes = await asyncio.gather(*requests, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [NotFound] * 3
    folder.commit(0, protocol(), metadata())
    assert (await read(reader, folder)).version == 0


async def test_closing_cancels_what_still_loads(
    reader: TableReader, format: SlowFormat, table: DeltaFolder
) -> None:
    request = asyncio.create_task(read(reader, table))
    await format.started.wait()
    await reader.aclose()
    with pytest.raises(asyncio.CancelledError):
        await request


@pytest.fixture
def open_reader(reader: TableReader, format: SlowFormat) -> TableReader:
    format.gate.set()
    return reader


async def test_a_cached_snapshot_is_advanced(
    open_reader: TableReader, format: SlowFormat, table: DeltaFolder
) -> None:
    first = await read(open_reader, table)
    assert await read(open_reader, table) is first
    table.commit(3, add("3"))
    assert paths(await read(open_reader, table)) == ["0", "1", "2", "3"]
    assert format.loads == ["latest", "advance 2", "advance 2"]


async def test_an_older_version_is_cached_too(
    open_reader: TableReader, format: SlowFormat, table: DeltaFolder
) -> None:
    first = await open_reader.at_version(table.table(), table.directory, 1)
    assert paths(first) == ["0", "1"]
    assert await open_reader.at_version(table.table(), table.directory, 1) is first
    assert (await open_reader.at_version(table.table(), table.directory, 2)).version == 2
    assert format.loads.count("version 1") == 1
    assert "version 2" not in format.loads  # the latest, which is at hand


async def test_an_older_version_of_a_table_created_anew_is_not_the_old_one(
    open_reader: TableReader, table: DeltaFolder
) -> None:
    await open_reader.at_version(table.table(), table.directory, 1)
    for path in table.log.iterdir():
        path.unlink()
    table.commit(0, protocol(), metadata(table_id="another"), add("new 0"))
    table.commit(1, add("new 1"))
    table.commit(2, add("new 2"))
    assert paths(await open_reader.at_version(table.table(), table.directory, 1)) == ["new 0", "new 1"]


async def test_versions_out_of_range_are_refused(open_reader: TableReader, table: DeltaFolder) -> None:
    with pytest.raises(InvalidRequest, match="versions 0 to 2 can be read"):
        await open_reader.at_version(table.table(), table.directory, 3)


async def test_a_timestamp_names_a_version(open_reader: TableReader, table: DeltaFolder) -> None:
    where = (table.table(), table.directory)
    assert await open_reader.version_at(*where, 2500) == 1
    assert await open_reader.version_at(*where, 2500, earliest_after=True) == 2


async def test_a_format_that_no_plugin_reads_is_refused_by_name(
    open_reader: TableReader, table: DeltaFolder
) -> None:
    iceberg = CatalogTable(id="t", format="iceberg", location="file:///t")
    with pytest.raises(UnsupportedOperation, match="'iceberg'"):
        await open_reader.latest(iceberg, table.directory)


async def snapshot_of(folder: Path, files: int) -> Snapshot:
    table = DeltaFolder(folder)
    table.commit(0, protocol(), metadata(), *(add(f"{number:0100}") for number in range(files)))
    return await latest(table)


def kept_snapshots(max_bytes: int) -> LRU[object, Snapshot]:
    return LRU(max_bytes, attrgetter("nbytes"))


async def small_and_large(folder: Path) -> tuple[Snapshot, Snapshot]:
    return await snapshot_of(folder / "small", 1), await snapshot_of(folder / "large", 50)


async def test_the_cache_drops_what_was_not_used_for_longest(tmp_path: Path) -> None:
    snapshots = [await snapshot_of(tmp_path / str(number), 50) for number in range(3)]
    cache = kept_snapshots(2 * snapshots[0].nbytes)
    for number in (0, 1):
        cache.put(number, snapshots[number])
    assert cache.get(0) is snapshots[0]
    cache.put(2, snapshots[2])
    assert [cache.get(number) is not None for number in range(3)] == [True, False, True]
    assert cache.weight == 2 * snapshots[0].nbytes


async def test_a_replaced_snapshot_counts_once(tmp_path: Path) -> None:
    small, large = await small_and_large(tmp_path)
    cache = kept_snapshots(MIB)
    cache.put("t", small)
    cache.put("t", large)
    assert (len(cache), cache.weight) == (1, large.nbytes)


async def test_a_snapshot_larger_than_the_cache_is_served_but_not_kept(tmp_path: Path) -> None:
    small, large = await small_and_large(tmp_path)
    cache = kept_snapshots(large.nbytes - 1)
    cache.put("small", small)
    cache.put("large", large)
    assert (cache.get("large"), len(cache), cache.weight) == (None, 1, small.nbytes)


async def test_a_snapshot_larger_than_the_cache_is_kept_for_a_moment(tmp_path: Path) -> None:
    folders = [DeltaFolder(tmp_path / name) for name in "abc"]
    for folder in folders:
        folder.commit(0, protocol(), metadata(), add("0"))
    format = SlowFormat()
    format.gate.set()
    reader = TableReader({"delta": format}, 0)

    async def loads(number: int) -> list[str]:
        format.loads.clear()
        table = CatalogTable(str(number), "delta", f"file://{folders[number].root}")
        await reader.latest(table, folders[number].directory)
        return format.loads

    assert await loads(0) == ["latest"]
    assert await loads(0) == ["advance 0"]
    assert await loads(1) == ["latest"]
    assert await loads(0) == ["advance 0"]
    assert await loads(2) == ["latest"]  # takes the place of the one that was unused longest
    assert await loads(1) == ["latest"]
    await reader.aclose()
    assert await loads(1) == ["latest"]
    await reader.aclose()


async def test_what_was_kept_for_a_moment_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, _ = await small_and_large(tmp_path)
    monkeypatch.setattr(reader_module, "_RECENT_SECONDS", 0)
    kept = reader_module.RecentSnapshots()
    kept.put("t", small)
    assert kept.get("t") is small
    await asyncio.sleep(0.01)  # the loop calls what was due before
    assert kept.get("t") is None


async def test_a_branch_is_refused_by_formats_that_do_not_read_branches(
    reader: TableReader, format: SlowFormat, table: DeltaFolder
) -> None:
    with pytest.raises(UnsupportedOperation, match="shared at a branch or tag"):
        await reader.latest(replace(table.table(), ref="audit"), table.directory)
    assert format.loads == []


async def test_branches_of_a_table_have_their_own_snapshots(
    reader: TableReader, format: SlowFormat, table: DeltaFolder
) -> None:
    format.reads_refs = True
    format.gate.set()
    for ref in (None, "audit", "main"):
        await reader.latest(replace(table.table(), ref=ref), table.directory)
        await reader.at_version(replace(table.table(), ref=ref), table.directory, 1)
    first = ["latest", "advance 2", "version 1"]
    assert format.loads == 3 * first


class Listing(DeltaFormat):
    """Delta, counting how often versions are listed."""

    def __init__(self) -> None:
        super().__init__()
        self.listings = 0

    async def earlier_versions(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        limit: int,
    ) -> Sequence[DescribedVersion]:
        self.listings += 1
        return await super().earlier_versions(table, directory, latest, start, limit)


async def listed(reader: TableReader, table: DeltaFolder, start: int = 0, **located: str) -> list[int]:
    source = table.table(**located)
    newest = await reader.latest(source, table.directory)
    found = await reader.earlier_versions(source, table.directory, newest, start, 9)
    return [each.version for each in found]


async def test_versions_are_listed_once_for_each_latest_one(table: DeltaFolder) -> None:
    format = Listing()
    reader = TableReader({"delta": format}, MIB)
    assert await asyncio.gather(*(listed(reader, table) for _ in range(3))) == [[0, 1]] * 3
    assert (await listed(reader, table), format.listings) == ([0, 1], 1)
    table.commit(3, add("3"), modified=4000)
    assert (await listed(reader, table), format.listings) == ([0, 1, 2], 2)


async def test_versions_are_listed_again_from_another_one_on_and_in_other_metadata(
    table: DeltaFolder,
) -> None:
    format = Listing()
    reader = TableReader({"delta": format}, MIB)
    assert [await listed(reader, table, start) for start in (0, 1)] == [[0, 1], [1]]
    assert await listed(reader, table, metadata_location="file:///expired.json") == [0, 1]
    assert format.listings == 3
