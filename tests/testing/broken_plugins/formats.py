"""A format with one mistake in each suite; `caught_by` names the check that must find it.

The correct one reads Delta tables, as the gateway does.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import ClassVar

import obstore
import pytest
from support.tables.deltalog import add, metadata, remove

from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    ObjectDirectory,
    SluicegateError,
    TableFormat,
    TableUnreadable,
    Unavailable,
)
from sluicegate.formats import Changes, DeltaFormat, Snapshot
from sluicegate_testing.formats import FormatBehaviour, WrittenTable

FIRST = 1_700_000_000_000
LOG = "_delta_log/{:020}.json"
PROTOCOL = {
    "protocol": {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["inCommitTimestamp"],
    }
}
COMMITS = (
    [PROTOCOL, metadata(delta__enableInCommitTimestamps="true"), add("a")],
    [add("b"), add("c")],
    [remove("a")],
)


LIVE = ({"a"}, {"a", "b", "c"}, {"b", "c"})


def written_table(versions: int) -> WrittenTable:
    """Some of the versions, whose timestamps are in the commits."""
    objects: dict[str, bytes] = {}
    for version, actions in enumerate(COMMITS[:versions]):
        info = {"commitInfo": {"inCommitTimestamp": FIRST + version * 1000, "operation": "WRITE"}}
        lines = [json.dumps(row) for row in (info, *actions)]
        objects[LOG.format(version)] = "\n".join(lines).encode()
    table = CatalogTable("t", "delta", "memory://lake/warehouse/orders")
    live = dict(enumerate(LIVE[:versions]))
    return WrittenTable(table, objects, live, written_table(versions - 1) if versions > 1 else None)


class TestDelta(FormatBehaviour):
    """The correct one passes all checks."""

    caught_by: ClassVar[str | None] = None
    kind: ClassVar[type[TableFormat]] = DeltaFormat

    @pytest.fixture
    def table_format(self) -> TableFormat:
        return self.kind()

    @pytest.fixture
    def written(self) -> WrittenTable:
        return written_table(len(COMMITS))


class ReadsAnOldVersion(DeltaFormat):
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        latest = await super().latest(table, directory, previous)
        return replace(latest, version=latest.version - 1)


class TestReadsAnOldVersion(TestDelta):
    caught_by = "test_the_newest_version_is_read"
    kind = ReadsAnOldVersion


class KeepsRemovedFiles(DeltaFormat):
    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        found = await super().at_version(table, directory, version)
        before = await super().at_version(table, directory, max(version - 1, 0))
        return replace(found, files=before.files)


class TestKeepsRemovedFiles(TestDelta):
    caught_by = "test_every_version_is_read"
    kind = KeepsRemovedFiles


class NeverAdvances(DeltaFormat):
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        return previous or await super().latest(table, directory, None)


class TestNeverAdvances(TestDelta):
    caught_by = "test_an_older_snapshot_is_advanced_to_the_same"
    kind = NeverAdvances


class ReadsTheNewestInstead(DeltaFormat):
    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        try:
            return await super().at_version(table, directory, version)
        except InvalidRequest:
            return await super().latest(table, directory, None)


class TestReadsTheNewestInstead(TestDelta):
    caught_by = "test_a_version_that_is_not_there_is_an_invalid_request"
    kind = ReadsTheNewestInstead


class IgnoresBranches(DeltaFormat):
    reads_refs = True


class TestIgnoresBranches(TestDelta):
    caught_by = "test_a_branch_that_does_not_exist_is_missing"
    kind = IgnoresBranches


class ForgetsVersions(DeltaFormat):
    def still_has(self, latest: Snapshot, version: int) -> bool:
        return version == latest.version


class TestForgetsVersions(TestDelta):
    caught_by = "test_readable_versions_can_still_be_named"
    kind = ForgetsVersions


class RoundsTimestamps(DeltaFormat):
    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        timestamp: int,
        *,
        earliest_after: bool,
    ) -> int:
        return await super().version_at(
            table, directory, latest, timestamp - 1, earliest_after=earliest_after
        )


class TestRoundsTimestamps(TestDelta):
    caught_by = "test_timestamps_name_versions"
    kind = RoundsTimestamps


class HasNoSchema(DeltaFormat):
    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        found = await super().at_version(table, directory, version)
        return replace(found, metadata=replace(found.metadata, schema_string="[]"))


class TestHasNoSchema(TestDelta):
    caught_by = "test_snapshots_have_the_columns_of_files_and_a_schema"
    kind = HasNoSchema


class SkipsACommit(DeltaFormat):
    async def changes(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        end: int,
    ) -> Changes:
        found = await super().changes(table, directory, latest, start, end)
        return replace(found, commits=found.commits[:1] + found.commits[2:])


class TestSkipsACommit(TestDelta):
    caught_by = "test_changes_cover_every_version"
    kind = SkipsACommit


class RaisesAsItsParser(DeltaFormat):
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        try:
            return await super().latest(table, directory, previous)
        except TableUnreadable as error:
            raise ValueError("line 1: no JSON") from error


class TestRaisesAsItsParser(TestDelta):
    caught_by = "test_damaged_metadata_raises_errors_of_the_api"
    kind = RaisesAsItsParser


class OutageIsBrokenMetadata(DeltaFormat):
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        try:
            return await super().latest(table, directory, previous)
        except Unavailable as error:
            raise TableUnreadable("the table's log is broken") from error


class TestOutageIsBrokenMetadata(TestDelta):
    caught_by = "test_an_outage_is_unavailable"
    kind = OutageIsBrokenMetadata


class ShowsTheStoresWords(DeltaFormat):
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        try:
            return await super().latest(table, directory, previous)
        except SluicegateError as error:
            raise Unavailable(f"{error.message}: {error.__cause__} {error.detail}") from error


class TestShowsTheStoresWords(TestDelta):
    caught_by = "test_messages_repeat_nothing_of_the_store"
    kind = ShowsTheStoresWords


class ReadsOnTheLoop(DeltaFormat):
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        try:
            obstore.list(directory.store, directory.key("_delta_log")).collect()
        except Exception as error:
            raise Unavailable("the store does not respond") from error
        return await super().latest(table, directory, previous)


class TestReadsOnTheLoop(TestDelta):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = ReadsOnTheLoop


class Sleeps(DeltaFormat):
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        time.sleep(0.001)  # noqa: ASYNC251 - the mistake
        return await super().latest(table, directory, previous)


class TestSleeps(TestDelta):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = Sleeps


class CountsNothing(DeltaFormat):
    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        unlimited = ObjectDirectory(directory.store, directory.prefix)
        return await super().latest(table, unlimited, previous)


class TestCountsNothing(TestDelta):
    caught_by = "test_what_is_decoded_is_counted"
    kind = CountsNothing
