"""Indexes of tables in tests: of sets of files, and of Delta logs."""

from __future__ import annotations

from typing import Any

from obstore.store import MemoryStore

from sluicegate.api import CatalogTable
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.delta.log import DeltaState
from sluicegate.tables.delta.log_files.names import log_file
from sluicegate.tables.features import feature_needs
from sluicegate.tables.partitions import PartitionValues, in_partitions, partition_texts
from sluicegate.tables.predicates import Predicate, from_hints, prune
from sluicegate.tables.snapshot import FileSet, Snapshot, TableMetadata, TableProtocol
from sluicegate.tables.snapshot_index.blocking_store import BlockingStore
from sluicegate.tables.snapshot_index.files import IndexedFiles
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.manifest import Manifest
from sluicegate.tables.snapshot_index.selection import SelectedFiles, select_files
from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot
from sluicegate.tables.snapshot_index.tables import IndexedTables
from sluicegate.tables.snapshot_index.writing.full import write_full_index

KEYS = KeyRing((b"k" * 32,))
TABLE = CatalogTable(id="t", format="delta", location="memory:///t")
PART_ROWS = 2
HINTS = ("id > 40", "id = 7", "country = 'DE' AND id < 60", "country IS NULL", "id IS NULL")


def index_folder(prefix: str = "indexes", keys: KeyRing = KEYS) -> IndexFolder:
    """An empty folder for indexes, in memory."""
    return IndexFolder(BlockingStore(MemoryStore()), prefix, keys)


def snapshot_of(files: FileSet, metadata: TableMetadata) -> Snapshot:
    """Version 7 of a table, with these files."""
    newest = log_file(f"{7:020}.json", 1, 1, None)
    assert newest is not None
    return Snapshot(7, 1, TableProtocol(1, 2), metadata, files, DeltaState(newest))


def write_index(
    folder: IndexFolder, table: CatalogTable, snapshot: Snapshot, part_rows: int = PART_ROWS
) -> Manifest:
    """Write and publish the index of a snapshot."""
    batches = (batch for rows in snapshot.files.batches(1000) for batch in rows.to_batches())
    manifest = write_full_index(folder, table, snapshot, batches, part_rows).manifest
    folder.publish(manifest)
    return manifest


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


def check_same(indexed: IndexedSnapshot | None, snapshot: Snapshot) -> None:
    """Both have the same totals and files, of all partitions and of one, with and without filters."""
    assert indexed is not None
    assert (indexed.version, indexed.timestamp) == (snapshot.version, snapshot.timestamp)
    assert (indexed.protocol, indexed.metadata) == (snapshot.protocol, snapshot.metadata)

    def german(values: PartitionValues) -> bool:
        return values.get("country") == "DE"

    needs = feature_needs(snapshot)
    assert (
        indexed.files.deletion_vectors
        is snapshot.files.deletion_vectors
        is ("deletionVectors" in needs.required)
    )
    for found, files in (
        (indexed.files, snapshot.files),
        (indexed.files.in_partitions(german), in_partitions(snapshot.files, german)),
    ):
        assert (len(found), found.size) == (len(files), files.size)
        assert found.partition_texts() == partition_texts(files)
        assert rows_of(selected(found, indexed.metadata, None)) == rows_of(files)
        for hint in HINTS:
            predicate = from_hints(None, [hint])
            assert predicate is not None
            left = selected(found, indexed.metadata, predicate)
            assert rows_of(left) == rows_of(prune(files, snapshot.metadata, predicate))
