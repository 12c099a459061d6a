"""Indexes of tables in tests: of sets of files, and of Delta logs."""

from __future__ import annotations

from typing import Any

from obstore.store import MemoryStore

from sluicegate.api import CatalogTable
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.delta.log import DeltaState
from sluicegate.tables.delta.log_files.names import log_file
from sluicegate.tables.predicates import Predicate
from sluicegate.tables.snapshot import FileSet, Snapshot, TableMetadata, TableProtocol
from sluicegate.tables.snapshot_index.blocking_store import BlockingStore
from sluicegate.tables.snapshot_index.files import IndexedFiles
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.selection import SelectedFiles, select_files
from sluicegate.tables.snapshot_index.tables import IndexedTables
from sluicegate.tables.snapshot_index.writing.writer import write_index

KEYS = KeyRing((b"k" * 32,))
TABLE = CatalogTable(id="t", format="delta", location="memory:///t")
PART_ROWS = 2


def index_folder(prefix: str = "indexes", keys: KeyRing = KEYS) -> IndexFolder:
    """An empty folder for indexes, in memory."""
    return IndexFolder(BlockingStore(MemoryStore()), prefix, keys)


def snapshot_of(files: FileSet, metadata: TableMetadata) -> Snapshot:
    """Version 7 of a table, with these files."""
    newest = log_file(f"{7:020}.json", 1, 1, None)
    assert newest is not None
    return Snapshot(7, 1, TableProtocol(1, 2), metadata, files, DeltaState(newest))


def indexed(folder: IndexFolder, snapshot: Snapshot, part_rows: int = PART_ROWS) -> IndexedFiles:
    """The files of a snapshot, written to an index with small parts and read again."""
    write_index(folder, TABLE, snapshot, part_rows)
    manifest = folder.manifest(table_key(TABLE))
    assert manifest is not None
    return IndexedFiles.of(SnapshotIndex.open(folder, manifest))


def indexed_tables(folder: IndexFolder, min_files: int = 0) -> IndexedTables:
    """What reads tables from the indexes of a folder."""

    async def opened() -> IndexFolder:
        return folder

    return IndexedTables(opened, min_files=min_files, max_bytes=1 << 24)


def selected(
    files: IndexedFiles, metadata: TableMetadata, predicate: Predicate | None
) -> SelectedFiles:
    """What a request selects; the totals are checked."""
    found = select_files(files, metadata, predicate)
    rows = rows_of(found)
    assert (found.count, found.size) == (len(rows), sum(row["size"] for row in rows))
    return found


def rows_of(files: FileSet | SelectedFiles) -> list[dict[str, Any]]:
    """All columns of files, sorted by path."""
    rows = [row for batch in files.batches(3, first=1) for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: str(row["path"]))
