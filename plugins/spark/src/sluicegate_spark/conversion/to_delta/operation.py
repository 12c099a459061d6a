"""CONVERT_TO_DELTA: commits the current snapshot of an Iceberg table to a Delta log in its directory.

The log describes the Iceberg table in the same way as the gateway shares it (docs/adr/0016).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from uuid import uuid4

import anyio.to_thread
from pydantic import Field

from sluicegate.api import TaskFailed, TaskProgress, TaskResult
from sluicegate.formats import FileSet, Snapshot
from sluicegate_spark.conversion.origin import MIRROR_FEATURE, Origin
from sluicegate_spark.conversion.to_delta.checkpoints import INTERVAL, checkpoint_if_due
from sluicegate_spark.conversion.to_delta.deletion_vectors import write_deletion_vectors
from sluicegate_spark.conversion.to_delta.delta_log import (
    DELETION_VECTORS,
    add_lines,
    commit,
    commit_header,
    remove_lines,
    with_deletion_vectors,
    with_feature,
)
from sluicegate_spark.conversion.to_delta.file_difference import difference
from sluicegate_spark.conversion.to_delta.iceberg_source import IcebergSource, iceberg_source
from sluicegate_spark.delta_reader import delta_snapshot
from sluicegate_spark.granted_files import check_file_set
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work

_MODE = "delta.columnMapping.mode"
_LARGEST = 4 << 30  # bytes of an object that every store accepts in one request


class ToDelta(Properties):
    """Properties of CONVERT_TO_DELTA."""

    writable: bool = Field(
        default=False,
        description="Allow Delta writers to change the converted table. Later conversions then don't "
        "update it.",
    )
    checkpoint_interval: int | None = Field(
        default=None,
        ge=1,
        description="Number of versions between checkpoints. The converted table stores it.",
    )


async def convert_to_delta(work: Work) -> TaskResult:
    """Convert the Iceberg table of a task to a Delta table, or update an earlier conversion.

    Raises:
        TaskFailed: The directory contains a Delta table that was not converted from this table, or
            that was made writable.
        UnsupportedOperation: Delta can't represent the table exactly.
    """
    properties = parse(ToDelta, work.task.properties)
    table = work.access.table
    objects = await work.access.objects()
    source = await iceberg_source(table, objects)
    before = await delta_snapshot(objects, table.location)
    origin = Origin(source.id, source.metadata_location, source.metadata.last_updated)
    if before is not None and _is_up_to_date(origin, before):
        return TaskResult(
            "the Delta table already contains this snapshot", further=_version(before.version)
        )
    work.run.report(TaskProgress("read"))
    recorded = {**origin.properties(), **_interval(properties, before)}
    after = _marked(await source.snapshot(), before, recorded, writable=properties.writable)
    await check_file_set(work.access.granted, after.files, table.location)
    version = 0 if before is None else before.version + 1
    result = await _written(work, source, before, after, version)
    await checkpoint_if_due(work, version, after)
    return result


def _is_up_to_date(origin: Origin, before: Snapshot) -> bool:
    recorded = Origin.of(before.metadata.configuration)
    if origin.is_contained_in(recorded, "a Delta table in the table's directory"):
        return True
    if MIRROR_FEATURE not in (before.protocol.writer_features or ()):
        raise TaskFailed(
            "the Delta table was made writable, so conversions no longer update it",
            error_code="INVALID_PAYLOAD",
        )
    return False


def _interval(properties: ToDelta, before: Snapshot | None) -> dict[str, str]:
    """Return the table property for the checkpoint interval: the task's, or else the table's own."""
    known = None if before is None else before.metadata.configuration.get(INTERVAL)
    interval = properties.checkpoint_interval or known
    return {} if interval is None else {INTERVAL: str(interval)}


def _marked(
    snapshot: Snapshot, before: Snapshot | None, recorded: Mapping[str, str], *, writable: bool
) -> Snapshot:
    """Return the snapshot with the properties and writer features of a converted table."""
    metadata = replace(
        snapshot.metadata,
        configuration={**snapshot.metadata.configuration, **recorded},
        created_time=snapshot.timestamp,
    )
    protocol = snapshot.protocol
    if before is not None and DELETION_VECTORS in (before.protocol.reader_features or ()):
        protocol = with_deletion_vectors(protocol)
    if not writable:
        protocol = with_feature(protocol, MIRROR_FEATURE)
    return replace(snapshot, metadata=metadata, protocol=protocol)


async def _written(
    work: Work, source: IcebergSource, before: Snapshot | None, after: Snapshot, version: int
) -> TaskResult:
    added, removed = await anyio.to_thread.run_sync(partial(_changed, before, after))
    total = len(added) + len(removed)
    work.run.report(TaskProgress("commit", files_total=total))
    objects = await work.access.objects()
    directory = objects.directory(work.access.table.location)
    vectors = added.table.column("deletion_vector")
    await write_deletion_vectors(
        vectors if added.live is None else vectors.filter(added.live), source.derived, directory
    )
    content = await anyio.to_thread.run_sync(partial(_content, before, after, added, removed))
    await commit(directory, version, content)
    work.run.report(TaskProgress("commit", files_done=total, files_total=total, bytes_done=added.size))
    return TaskResult(
        f"the table was converted to version {version} of a Delta table with the same data files",
        further={**_version(version), "files_added": len(added), "files_removed": len(removed)},
    )


def _changed(before: Snapshot | None, after: Snapshot) -> tuple[FileSet, FileSet]:
    """Return the files to add and the files to remove."""
    if before is None:
        return after.files, FileSet.of(())
    removed = difference(before.files, after.files)
    if before.metadata.configuration.get(_MODE) != after.metadata.configuration.get(_MODE):
        return after.files, removed  # statistics contain other column names
    return difference(after.files, before.files), removed


def _content(before: Snapshot | None, after: Snapshot, added: FileSet, removed: FileSet) -> bytes:
    now = time.time_ns() // 1_000_000
    info = {
        "timestamp": now,
        "operation": "CONVERT",
        "operationParameters": {"source": "iceberg", "snapshotVersion": str(after.version)},
        "engineInfo": "Sluicegate",
        "txnId": str(uuid4()),
    }
    known = before is not None and before.protocol == after.protocol
    protocol = None if known else after.protocol
    content = b"".join(
        (commit_header(info, protocol, after.metadata), *remove_lines(removed, now), *add_lines(added))
    )
    if len(content) > _LARGEST:
        raise TaskFailed(
            f"the table has too many files for one commit of a Delta log ({len(added)}): compact the "
            "table first",
            error_code="INVALID_PAYLOAD",
        )
    return content


def _version(version: int) -> dict[str, int | str]:
    return {"delta_version": version}
