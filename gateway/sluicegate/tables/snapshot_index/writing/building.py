"""Builds the index of a table: from the previous one and later commits, or from the entire log."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import anyio.to_thread
import pyarrow as pa
from anyio.from_thread import check_cancelled

from sluicegate._util.clock import epoch_ms
from sluicegate.api.budget import Budget, TableLimits, TableTooLarge
from sluicegate.api.errors import ObjectMissing, TableUnreadable, Unavailable, UnsupportedOperation
from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.delta.log import DeltaLog, LaterVersion, LogPosition
from sluicegate.tables.delta.parts.live_files import latest_checkpointed_version
from sluicegate.tables.snapshot import CHUNK_ROWS, FileSet
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.folder import IndexFolder, StoredFile, table_key
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.layout import PART_ROWS
from sluicegate.tables.snapshot_index.manifest import Manifest
from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot
from sluicegate.tables.snapshot_index.writing.full import write_full_index
from sluicegate.tables.snapshot_index.writing.incremental import FullBuildNeeded, write_later_index
from sluicegate.tables.snapshot_index.writing.index_writer import WrittenIndex

# Milliseconds for which the files of a replaced index are kept. Gateways look for a new index after a
# minute, and another build that began before can keep parts of the previous index.
_REPLACED_FOR = 60 * 60 * 1000
# Milliseconds after which a file that no manifest named was left by a build that was killed.
_BUILT_WITHIN = 24 * 60 * 60 * 1000


def digests(index: SnapshotIndex) -> set[str]:
    """Digests of all files of an index."""
    named = {each.digest for each in index.manifest.references()}
    return named | set(index.summary.column("digest").to_pylist())


def remove_unused(folder: IndexFolder, key: str, now: int) -> int:
    """Remove files of a table's indexes that were replaced more than an hour ago. Blocks.

    Files that no manifest names belong to a build that is running, or that was killed. They are removed
    a day after they were written.

    Returns:
        The number of removed files, without manifests.
    """
    files = folder.files(key)
    copies = sorted((each for each in files if each.built is not None), key=_built)
    replaced = _replaced(copies, now - _REPLACED_FOR)
    needed = _named(folder, folder.manifest(key))
    for each in copies[len(replaced) :]:
        needed |= _named(folder, folder.manifest(key, each.name))
    former: set[str] = set()
    for each in replaced:
        try:
            former |= _named(folder, folder.manifest(key, each.name))
        except IndexUnusable:
            continue  # its files are removed after a day
    unused = [
        each.name
        for each in files
        if each.digest is not None
        and each.digest not in needed
        and each.modified < now - (_REPLACED_FOR if each.digest in former else _BUILT_WITHIN)
    ]
    folder.delete(key, unused)
    folder.delete(key, [each.name for each in replaced])
    return len(unused)


def _replaced(copies: Sequence[StoredFile], before: int) -> Sequence[StoredFile]:
    """The copies of manifests that were replaced before a time, which the next one's time says."""
    return copies[: sum(_built(each) < before for each in copies[1:])]


def _built(copy: StoredFile) -> int:
    return copy.built or 0


def _named(folder: IndexFolder, manifest: Manifest | None) -> set[str]:
    return set() if manifest is None else digests(SnapshotIndex.open(folder, manifest))


log = logging.getLogger(__name__)

# Entries in later commits that are always applied, and what these commits can take in memory.
_MOST_LATER = 1_000_000
_LATER_BYTES = 1_000_000_000


class TooFewFiles(UnsupportedOperation):
    """A table is so small that its log is read, whether it has an index or not."""


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index in a folder.

    Attributes:
        bytes: Bytes of all of its files, except for the manifest.
    """

    manifest: Manifest
    parts: int
    bytes: int


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """What a build did."""

    index: BuiltIndex
    kept: int
    reason: str | None = None


async def _at_once() -> None:
    """Allow a build to publish its index."""


def check_format(table: CatalogTable, name: str) -> None:
    """Ensure that a table can have an index."""
    if table.format != "delta":
        raise UnsupportedOperation(
            f"{name} has the format '{table.format}': only Delta tables can be indexed"
        )


async def build_index(
    folder: IndexFolder,
    table: CatalogTable,
    directory: ObjectDirectory,
    *,
    full: bool = False,
    min_files: int = 0,
    part_rows: int = PART_ROWS,
    before_publication: Callable[[], Awaitable[None]] = _at_once,
) -> IndexBuild:
    """Build the index of the newest version of a Delta table.

    If the table has an index of an earlier version, later commits are applied to it: only parts with
    files that were added or removed are written. Otherwise, all files are read and sorted.
    """
    build = _Build(folder, table, directory, min_files, part_rows, before_publication)
    try:
        if full:
            raise FullBuildNeeded("it was requested")
        return await build.incremental()
    except FullBuildNeeded as needed:
        return await build.full(str(needed))


@dataclass(frozen=True, slots=True)
class _Build:
    folder: IndexFolder
    table: CatalogTable
    directory: ObjectDirectory
    min_files: int
    part_rows: int
    before_publication: Callable[[], Awaitable[None]]

    async def incremental(self) -> IndexBuild:
        """Apply later commits to the index; raises `FullBuildNeeded` if that is not possible."""
        try:
            index = await anyio.to_thread.run_sync(opened, self.folder, table_key(self.table))
            if index is None:
                raise FullBuildNeeded("there was no index")
            later = await self._later(index)
            if later.version == index.manifest.version:
                self._check_size(index.manifest.files)
                return IndexBuild(_described(index), len(index))
            written = await anyio.to_thread.run_sync(
                write_later_index, index, self.table, later, self.part_rows, check_cancelled
            )
        except (IndexUnusable, TableUnreadable) as error:
            # What is wrong with the log is reported when it is read from its beginning.
            raise FullBuildNeeded(f"the previous index cannot be continued: {error}") from error
        return await self._publish(written, None)

    async def full(self, reason: str) -> IndexBuild:
        """Read all files of the table, and write all parts."""
        try:
            version = await latest_checkpointed_version(self.table, self.directory)
            written = await self._write(version.later, version.live_files())
        except (TableUnreadable, ObjectMissing):
            # An older checkpoint might be readable. Only now is the entire snapshot in memory.
            snapshot = await DeltaFormat(0).latest(self.table, self.directory, None)
            written = await self._write(snapshot, _batches(snapshot.files))
        return await self._publish(written, reason)

    async def _write(self, version: LogPosition, files: Iterable[pa.RecordBatch]) -> WrittenIndex:
        return await anyio.to_thread.run_sync(
            write_full_index,
            self.folder,
            self.table,
            version,
            files,
            self.part_rows,
            check_cancelled,
            self._check_size,
        )

    async def _later(self, index: SnapshotIndex) -> LaterVersion:
        limits = TableLimits(_LATER_BYTES, max(_MOST_LATER, index.manifest.files // 4))
        with closing(Budget(limits)) as budget:
            directory = replace(self.directory, budget=budget)
            try:
                later = await DeltaLog(self.table, directory).later(IndexedSnapshot.of(index))
            except TableTooLarge:
                raise FullBuildNeeded(
                    f"the later commits have more than {limits.rows} entries, or {limits.bytes} bytes"
                ) from None
        if later is None:
            raise FullBuildNeeded(
                f"the log does not continue from version {index.manifest.version}, which was indexed"
            )
        return later

    async def _publish(self, written: WrittenIndex, reason: str | None) -> IndexBuild:
        manifest = written.manifest
        self._check_size(manifest.files)
        await self.before_publication()
        await anyio.to_thread.run_sync(_publish, self.folder, written)
        return IndexBuild(BuiltIndex(manifest, written.parts, written.bytes), written.kept, reason)

    def _check_size(self, files: int) -> None:
        if files < self.min_files:
            raise TooFewFiles(
                f"{self.table.id} has {files} files, and tables with fewer than {self.min_files} are "
                "read from their logs: see index.min_files"
            )


def _batches(files: FileSet) -> Iterator[pa.RecordBatch]:
    return (batch for table in files.batches(CHUNK_ROWS) for batch in table.to_batches())


def _publish(folder: IndexFolder, written: WrittenIndex) -> None:
    key = written.manifest.table
    missing = written.digests - {each.digest for each in folder.files(key)}
    if missing:
        raise Unavailable(
            f"{len(missing)} files of the index were removed while it was built, by another build of "
            "the same table: build it again"
        )
    folder.publish(written.manifest)
    try:
        remove_unused(folder, key, epoch_ms())
    except IndexUnusable as error:
        log.warning("files of the snapshot index %s that nothing needs are kept: %s", key, error)


def opened(folder: IndexFolder, key: str) -> SnapshotIndex | None:
    """The index of a table, or `None` if it has none. Blocks."""
    manifest = folder.manifest(key)
    return None if manifest is None else SnapshotIndex.open(folder, manifest)


def described(folder: IndexFolder, key: str) -> BuiltIndex:
    """Describe the index of a table. Blocks."""
    index = opened(folder, key)
    if index is None:
        raise IndexUnusable("it was removed in the meantime")
    return _described(index)


def _described(index: SnapshotIndex) -> BuiltIndex:
    files = sum(each.bytes for each in index.manifest.references())
    return BuiltIndex(
        index.manifest, len(index), files + sum(index.summary.column("bytes").to_pylist())
    )
