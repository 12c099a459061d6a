"""The files of an incremental scan: what was appended after one snapshot and until another."""

from __future__ import annotations

import pyarrow as pa

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.protocols.common.shared_scope import check_history, check_version, shared_partitions
from sluicegate.protocols.iceberg_rest.view import TableView, snapshot_id
from sluicegate.tables.changes import Changes
from sluicegate.tables.partitions import partition_mask
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import FILE_SCHEMA, FileChunk, FileSet

_ADD = "add"


async def appended_files(reader: TableReader, view: TableView, start_version: int) -> FileSet:
    """The files that were appended after a version, and that the recipient can see.

    Args:
        reader: Reads the changes.
        view: The table at the last version of the scan.
        start_version: The version after which the scan starts.

    Raises:
        IndexUnsuitable: The files of the view are in an index.
        InvalidRequest: The recipient cannot read the first version, or its commits no longer exist.
        UnsupportedOperation: A version changed or removed rows, or the format does not report changes.
        Unavailable: The store does not respond.
    """
    shared, end = view.table.shared, view.snapshot.version
    check_history(shared, "start-snapshot-id")
    check_version(shared, start_version)
    if start_version == end:
        return FileSet.of(())
    latest = view.in_memory().snapshot
    changes = await reader.changes(
        view.table.source, view.table.directory, latest, start_version + 1, end
    )
    _check_partitioning(view, changes)
    wanted = shared_partitions(shared, view.table.principal, view.snapshot.metadata)
    chunks = []
    async for commit, actions in changes.files("data", start_version + 1):
        if wanted is not None:
            actions = actions.filter(partition_mask(actions.column("partition_values"), wanted))
        kinds = actions.column("kind")
        if any(kind != _ADD for kind in kinds.unique().to_pylist()):
            raise _not_appended(commit.version, "changed or removed rows")
        chunks.append(FileChunk.of(_as_files(actions)))
    return FileSet.of(chunks)


def _check_partitioning(view: TableView, changes: Changes) -> None:
    columns = view.snapshot.metadata.partition_columns
    for state in changes.states():
        if state.metadata.partition_columns != columns:
            raise _not_appended(state.version, "has other partition columns")


def _as_files(actions: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [actions.column(name) for name in FILE_SCHEMA.names], schema=FILE_SCHEMA
    )


def _not_appended(version: int, reason: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"an incremental scan reads appended rows only, and snapshot {snapshot_id(version)} {reason}: "
        "use a later start-snapshot-id, or read the snapshots"
    )
