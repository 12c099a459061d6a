"""Tables without a log or a store: snapshots, changes, and a format that serves them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from support.tables.filesets import schema_field, table_metadata

from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    ObjectDirectory,
    TableFormat,
    TableUnreadable,
)
from sluicegate.tables.changes import CHANGE_SCHEMA, Changes, Commit, CommitFiles, TableState, What
from sluicegate.tables.snapshot import (
    FILE_SCHEMA,
    FileChunk,
    FileSet,
    Snapshot,
    TableMetadata,
    TableProtocol,
)
from sluicegate.tables.versions import DescribedVersion

Row = dict[str, Any]
PROTOCOL = TableProtocol(1, 2)
WITH_VECTORS = TableProtocol(3, 7, ("deletionVectors",), ("deletionVectors",))
METADATA = table_metadata([schema_field("id", "long")])
FEED = table_metadata([schema_field("id", "long")], **{"delta.enableChangeDataFeed": "true"})


def file(path: str, **values: Any) -> Row:
    """A row of `FILE_SCHEMA`: a file of ten bytes."""
    return {"path": path, "size": 10, "modification_time": 5, "partition_values": "{}", **values}


def file_rows(*rows: Row) -> pa.Table:
    """Rows of `FILE_SCHEMA`."""
    return pa.Table.from_pylist(list(rows), schema=FILE_SCHEMA)


def change(kind: str, path: str, **values: Any) -> Row:
    """A row of `CHANGE_SCHEMA`."""
    return file(path, kind=kind, **values)


def change_rows(*rows: Row) -> pa.RecordBatch:
    """Rows of `CHANGE_SCHEMA`."""
    return pa.RecordBatch.from_pylist(list(rows), schema=CHANGE_SCHEMA)


def time_of(version: int) -> int:
    """When `snapshot` and `Made` commit a version: one second after the one before."""
    return 1_700_000_000_000 + version * 1000


def snapshot(
    *rows: Row,
    version: int = 0,
    metadata: TableMetadata = METADATA,
    protocol: TableProtocol = PROTOCOL,
) -> Snapshot:
    """A version with these files, in one chunk."""
    files = FileSet.of([FileChunk.of(pa.RecordBatch.from_pylist(list(rows), schema=FILE_SCHEMA))])
    return Snapshot(version, time_of(version), protocol, metadata, files)


@dataclass(frozen=True)
class Made:
    """A version to make changes of, and what it changes."""

    version: int
    rows: Sequence[Row] = ()
    protocol: TableProtocol | None = None
    metadata: TableMetadata | None = None
    incomplete: bool = False

    @property
    def commit(self) -> Commit:
        """The version without its files; those of `data` and `feed` are the same."""
        vectors = any(row.get("deletion_vector") for row in self.rows)
        both: frozenset[What] = frozenset(("data", "feed"))
        return Commit(
            self.version,
            time_of(self.version),
            self.protocol,
            self.metadata,
            both if vectors else frozenset(),
            both if self.incomplete else frozenset(),
        )


def changes(*made: Made, metadata: TableMetadata = FEED, protocol: TableProtocol = PROTOCOL) -> Changes:
    """A range of versions that starts with this protocol and metadata."""
    files = {each.version: change_rows(*each.rows) for each in made}

    async def read(commits: Sequence[Commit]) -> list[CommitFiles]:
        return [CommitFiles(files[each.version], files[each.version]) for each in commits]

    start = TableState(made[0].version, protocol, metadata)
    return Changes(start, tuple(each.commit for each in made), read)


@dataclass
class MemoryFormat(TableFormat):
    """Serves one table, at every location.

    Attributes:
        closed: Nothing is read until it is set; `None` for no wait.
    """

    versions: Sequence[Snapshot] = ()
    history: Sequence[Made] = ()
    generated: Mapping[str, bytes] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)
    closed: asyncio.Event | None = None
    failure: Exception | None = None

    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        """The last version."""
        await self._reads("latest")
        return self.versions[-1]

    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        """A version."""
        await self._reads(f"version {version}")
        return next(each for each in self.versions if each.version == version)

    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        timestamp: int,
        *,
        earliest_after: bool,
    ) -> int:
        """A version by its time."""
        await self._reads(f"time {timestamp}")
        after = [each.version for each in self.versions if each.timestamp >= timestamp]
        before = [each.version for each in self.versions if each.timestamp <= timestamp]
        found = after[:1] if earliest_after else before[-1:]
        if not found:
            raise InvalidRequest("there is no version at this time")
        return found[0]

    async def earlier_versions(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        limit: int,
    ) -> Sequence[DescribedVersion]:
        """The versions before the latest one."""
        await self._reads(f"versions from {start}")
        earlier = [each for each in self.versions if start <= each.version < latest.version]
        return [DescribedVersion.of(each) for each in earlier][-limit:]

    async def changes(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        end: int,
    ) -> Changes:
        """The changes of a range; its first version's state is that of its snapshot."""
        await self._reads(f"changes {start} to {end}")
        made = [each for each in self.history if start <= each.version <= end]
        first = next(each for each in self.versions if each.version == start)
        return changes(*made, metadata=first.metadata, protocol=first.protocol)

    async def derived(self, table: CatalogTable, directory: ObjectDirectory, recipe: str) -> bytes:
        """A file that `generated` has."""
        await self._reads(f"derived {recipe}")
        if recipe not in self.generated:
            raise TableUnreadable("the sources of the file are missing")
        return self.generated[recipe]

    async def _reads(self, what: str) -> None:
        self.read.append(what)
        if self.closed is not None:
            await self.closed.wait()
        if self.failure is not None:
            raise self.failure
