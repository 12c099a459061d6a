"""Tests for every table format. Inherit the suite in the tests of your plugin.

class TestMyFormat(FormatBehaviour):
    @pytest.fixture
    def table_format(self) -> TableFormat: ...
    @pytest.fixture
    def written(self) -> WrittenTable: ...
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import obstore
import pytest
from obstore.store import MemoryStore

from sluicegate.api import (
    Budget,
    CatalogTable,
    InvalidRequest,
    NotFound,
    ObjectDirectory,
    TableFormat,
    TableLimits,
    TableTooLarge,
    TableUnreadable,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_testing.checks.blocking import never_blocking
from sluicegate_testing.checks.failures import Calls, Failure, check_kinds, check_texts, failures_of
from sluicegate_testing.servers.failing import (
    FORBIDS,
    SERVER_WORDS,
    SLOW,
    failing_servers,
    failing_store,
)

if TYPE_CHECKING:
    from sluicegate.formats import Snapshot

_FOLDER = "warehouse/orders"
_ROWS = 10_000


@dataclass(frozen=True)
class WrittenTable:
    """A table that the format under test must read.

    Attributes:
        table: The table in its catalog, with its location.
        objects: All of its metadata, by names relative to the location. Data files are not required.
        versions: Paths of the live data files in each readable version, ascending; at least two
            versions with different timestamps.
        earlier: The same table before its last version, to test that its snapshot can be advanced.
    """

    table: CatalogTable
    objects: Mapping[str, bytes]
    versions: Mapping[int, Collection[str]]
    earlier: WrittenTable | None = None


class FormatBehaviour:
    """Inherit it as `Test…`, and provide the fixtures `table_format` and `written`.

    Attributes:
        can_list_changes: Set it to `False` if `changes` is not implemented.
    """

    can_list_changes: ClassVar[bool] = True

    @pytest.fixture
    def table_format(self) -> TableFormat:
        """The format under test."""
        raise NotImplementedError("provide a fixture 'table_format'")

    @pytest.fixture
    def written(self) -> WrittenTable:
        """A table with at least two versions."""
        raise NotImplementedError("provide a fixture 'written': WrittenTable(table, objects, versions)")

    @pytest.mark.asyncio
    async def test_the_newest_version_is_read(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        snapshot = await table_format.latest(written.table, _opened(written.objects), None)
        newest = max(written.versions)
        assert (snapshot.version, _paths(snapshot)) == (newest, sorted(written.versions[newest]))

    @pytest.mark.asyncio
    async def test_every_version_is_read(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        read = {each.version: _paths(each) for each in await _all_versions(table_format, written)}
        assert read == {version: sorted(paths) for version, paths in written.versions.items()}

    @pytest.mark.asyncio
    async def test_an_older_snapshot_is_advanced_to_the_same(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        earlier = written.earlier
        assert earlier is not None, "'written' needs the table before its last version in 'earlier'"
        before = await table_format.latest(earlier.table, _opened(earlier.objects), None)
        directory = _opened(written.objects)
        alone = await table_format.latest(written.table, directory, None)
        for previous in (before, alone):
            advanced = await table_format.latest(written.table, directory, previous)
            assert (advanced.version, _paths(advanced)) == (alone.version, _paths(alone))
            assert advanced.metadata == alone.metadata

    @pytest.mark.asyncio
    async def test_a_version_that_is_not_there_is_an_invalid_request(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        for version in (max(written.versions) + 1, -1, 2**62):
            with pytest.raises(InvalidRequest):
                await table_format.at_version(written.table, _opened(written.objects), version)

    @pytest.mark.asyncio
    async def test_a_branch_that_does_not_exist_is_missing(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        if not table_format.reads_refs:
            pytest.skip("this format declares reads_refs = False")
        directory = _opened(written.objects)
        latest = await table_format.latest(written.table, directory, None)
        missing = replace(written.table, ref="no such branch")
        for previous in (None, latest):
            with pytest.raises(NotFound):
                await table_format.latest(missing, directory, previous)
        with pytest.raises(NotFound):
            await table_format.at_version(missing, directory, latest.version)

    @pytest.mark.asyncio
    async def test_readable_versions_can_still_be_named(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        latest = await table_format.latest(written.table, _opened(written.objects), None)
        assert all(table_format.still_has(latest, version) for version in written.versions)

    @pytest.mark.asyncio
    async def test_timestamps_name_versions(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        directory = _opened(written.objects)
        latest = await table_format.latest(written.table, directory, None)
        named = partial(table_format.version_at, written.table, directory, latest)
        committed = {
            each.timestamp: each.version for each in await _all_versions(table_format, written)
        }
        assert len(committed) == len(written.versions), "timestamps of the versions need to differ"
        for timestamp, version in committed.items():
            for earliest_after in (False, True):
                assert await named(timestamp, earliest_after=earliest_after) == version
        first, last = min(committed), max(committed)
        assert await named(first - 1, earliest_after=True) == committed[first]
        with pytest.raises(InvalidRequest):
            await named(first - 1, earliest_after=False)
        with pytest.raises(InvalidRequest):
            await named(last + 1, earliest_after=True)

    @pytest.mark.asyncio
    async def test_listed_versions_are_those_that_can_be_read(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        directory = _opened(written.objects)
        latest = await table_format.latest(written.table, directory, None)
        listed = partial(table_format.earlier_versions, written.table, directory, latest)
        found = await listed(0, len(written.versions))
        read = {each.version: each for each in await _all_versions(table_format, written)}
        assert [each.version for each in found] == sorted({each.version for each in found})
        for each in found:
            assert each.version < latest.version
            snapshot = read[each.version]
            assert (each.timestamp, each.metadata) == (snapshot.timestamp, snapshot.metadata)
            assert each.deletion_vectors or not snapshot.files.deletion_vectors
        if found:
            assert list(await listed(0, 1)) == [found[-1]]
            assert list(await listed(found[0].version + 1, len(found))) == list(found[1:])
            assert not await listed(latest.version, 1)

    @pytest.mark.asyncio
    async def test_snapshots_have_the_columns_of_files_and_a_schema(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        from sluicegate.formats import FILE_SCHEMA

        for snapshot in await _all_versions(table_format, written):
            assert all(batch.schema.equals(FILE_SCHEMA) for batch in snapshot.files.batches(_ROWS))
            assert json.loads(snapshot.metadata.schema_string)["type"] == "struct"
            assert snapshot.metadata.id

    @pytest.mark.asyncio
    async def test_changes_cover_every_version(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        directory = _opened(written.objects)
        latest = await table_format.latest(written.table, directory, None)
        first, last = min(written.versions), max(written.versions)
        if not self.can_list_changes:
            with pytest.raises(UnsupportedOperation):
                await table_format.changes(written.table, directory, latest, first, last)
            return
        changes = await table_format.changes(written.table, directory, latest, first, last)
        assert [commit.version for commit in changes.commits] == list(range(first, last + 1))
        live: set[str] = set()
        async for commit, files in changes.files("data", first):
            for file in files.to_pylist():
                (live.add if file["kind"] == "add" else live.discard)(file["path"])
            if commit.version == last:
                assert set(written.versions[last]) - set(written.versions[first]) <= live

    @pytest.mark.asyncio
    async def test_a_missing_table_is_not_found(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        with pytest.raises((NotFound, TableUnreadable)):
            await table_format.latest(written.table, _opened({}), None)

    @pytest.mark.asyncio
    async def test_damaged_metadata_raises_errors_of_the_api(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        """Each object is missing, empty, cut in half, garbage, or other JSON."""
        found: list[Failure] = []
        for name, content in written.objects.items():
            damages = (None, b"", content[: len(content) // 2], b"\xff\0garbage" * 9, b'{"a": [1]}')
            for damage in damages:
                objects = {**written.objects, name: damage}
                damaged = {key: held for key, held in objects.items() if held is not None}
                found += await failures_of(_reads(table_format, written, _opened(damaged)), name)
        check_kinds(found)

    @pytest.mark.asyncio
    async def test_an_outage_is_unavailable(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        found = await _outage_failures(table_format, written)
        assert {each.circumstances for each in found} == _outages(), "a read succeeds in an outage"
        check_kinds(
            [each for each in found if each.circumstances not in FORBIDS | {*_GARBAGE}], Unavailable
        )
        check_kinds(found)

    @pytest.mark.asyncio
    async def test_messages_repeat_nothing_of_the_store(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        found = await _outage_failures(table_format, written)
        check_texts(found, [SERVER_WORDS, "127.0.0.1"], log=False)

    @pytest.mark.asyncio
    async def test_nothing_blocks_the_event_loop(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        with failing_servers() as urls:
            slow = ObjectDirectory(failing_store(urls[SLOW]), _FOLDER)
            async with never_blocking():
                await failures_of(_reads(table_format, written, _opened(written.objects)))
                await failures_of(_reads(table_format, written, slow))

    @pytest.mark.asyncio
    async def test_what_is_decoded_is_counted(
        self, table_format: TableFormat, written: WrittenTable
    ) -> None:
        opened = _opened(written.objects)
        limited = ObjectDirectory(opened.store, opened.prefix, Budget(TableLimits(bytes=1)))
        with pytest.raises(TableTooLarge):
            await table_format.latest(written.table, limited, None)

    @pytest.mark.asyncio
    async def test_many_read_it_at_once(self, table_format: TableFormat, written: WrittenTable) -> None:
        directory = _opened(written.objects)
        read = (table_format.latest(written.table, directory, None) for _ in range(8))
        found = await asyncio.gather(*read)
        assert len({(each.version, *_paths(each)) for each in found}) == 1


# If a store returns 200 with these bodies, only the format can determine what that means.
_GARBAGE = ("returns HTML", "returns other JSON")


def _outages() -> set[str]:
    from sluicegate_testing.servers.failing import MODES

    return {*MODES} - {SLOW}


async def _outage_failures(table_format: TableFormat, written: WrittenTable) -> list[Failure]:
    found: list[Failure] = []
    with failing_servers() as urls:
        for how in sorted(_outages()):
            directory = ObjectDirectory(failing_store(urls[how]), _FOLDER)
            found += await failures_of(_reads(table_format, written, directory), how)
    return found


def _reads(table_format: TableFormat, written: WrittenTable, directory: ObjectDirectory) -> Calls:
    first = min(written.versions)
    return {
        "latest": lambda: table_format.latest(written.table, directory, None),
        "at_version": lambda: table_format.at_version(written.table, directory, first),
    }


def _opened(objects: Mapping[str, bytes]) -> ObjectDirectory:
    store = MemoryStore()
    for name, content in objects.items():
        obstore.put(store, f"{_FOLDER}/{name}", content)
    return ObjectDirectory(store, _FOLDER)


async def _all_versions(table_format: TableFormat, written: WrittenTable) -> list[Snapshot]:
    directory = _opened(written.objects)
    return [
        await table_format.at_version(written.table, directory, version) for version in written.versions
    ]


def _paths(snapshot: Snapshot) -> list[str]:
    return sorted(
        path for batch in snapshot.files.batches(_ROWS) for path in batch.column("path").to_pylist()
    )
