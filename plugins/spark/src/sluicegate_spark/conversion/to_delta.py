"""CONVERT_TO_DELTA: an Iceberg table's current snapshot as one commit of a Delta log beside it.

What the log says is what recipients of the table see as a Delta table (docs/adr/0016).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import anyio.to_thread
from pydantic import Field

from sluicegate.api import TaskFailed, TaskProgress, TaskResult
from sluicegate.formats import FileSet, Snapshot
from sluicegate_spark.conversion.checkpoints import INTERVAL, checkpoint_if_due
from sluicegate_spark.conversion.delta_log import adds, commit, head, removes, with_feature
from sluicegate_spark.conversion.difference import difference
from sluicegate_spark.conversion.mirror import READ_ONLY, Origin
from sluicegate_spark.conversion.reading import IcebergSource, delta_snapshot, iceberg_source, opened
from sluicegate_spark.conversion.vectors import write_vectors
from sluicegate_spark.granted_files import check_file_set
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work

_MODE = "delta.columnMapping.mode"
_LARGEST = 4 << 30  # bytes of an object that every store takes at once


class ToDelta(Properties):
    """Properties of CONVERT_TO_DELTA."""

    writable: bool = Field(
        default=False,
        description="Let Delta's writers change the converted table, which then goes its own way.",
    )
    checkpoint_interval: int | None = Field(
        default=None,
        ge=1,
        description="Versions from one checkpoint to the next; the converted table remembers it.",
    )


async def convert_to_delta(work: Work) -> TaskResult:
    """Show the Iceberg table of a task as a Delta table; if it is one already, bring that up to date.

    Raises:
        TaskFailed: There is a Delta table that was not made from this one, or goes its own way.
        UnsupportedOperation: The table cannot be said exactly.
    """
    told = parse(ToDelta, work.task.properties)
    table = work.access.table
    objects = await work.access.objects()
    source = await iceberg_source(table, objects)
    before = await delta_snapshot(objects, table.location)
    origin = Origin(source.id, source.metadata_location, source.metadata.last_updated)
    if before is not None and _is_shown(origin, before):
        return TaskResult(
            "the Delta table shows this snapshot already", further=_counts(before.version)
        )
    work.run.report(TaskProgress("read"))
    remembered = {**origin.properties(), **_interval(told, before)}
    after = _marked(await source.snapshot(), remembered, writable=told.writable)
    await check_file_set(work.access.granted, after.files, table.location)
    version = 0 if before is None else before.version + 1
    result = await _written(work, source, before, after, version)
    await checkpoint_if_due(work, version, after)
    return result


def _is_shown(origin: Origin, before: Snapshot) -> bool:
    shown = Origin.of(before.metadata.configuration)
    if origin.is_shown_by(shown, "a Delta table in the table's directory"):
        return True
    if READ_ONLY not in (before.protocol.writer_features or ()):
        raise TaskFailed(
            "the Delta table was made writable and goes its own way: it is brought up to date no more",
            error_code="INVALID_PAYLOAD",
        )
    return False


def _interval(told: ToDelta, before: Snapshot | None) -> dict[str, str]:
    """How often checkpoints are written: as the task says, or as an earlier one said."""
    known = None if before is None else before.metadata.configuration.get(INTERVAL)
    interval = told.checkpoint_interval or known
    return {} if interval is None else {INTERVAL: str(interval)}


def _marked(snapshot: Snapshot, remembered: Mapping[str, str], *, writable: bool) -> Snapshot:
    """The snapshot with what the converted table has to remember."""
    metadata = replace(
        snapshot.metadata,
        configuration={**snapshot.metadata.configuration, **remembered},
        created_time=snapshot.timestamp,
    )
    protocol = snapshot.protocol if writable else with_feature(snapshot.protocol, READ_ONLY)
    return replace(snapshot, metadata=metadata, protocol=protocol)


async def _written(
    work: Work, source: IcebergSource, before: Snapshot | None, after: Snapshot, version: int
) -> TaskResult:
    added, removed = await anyio.to_thread.run_sync(partial(_changed, before, after))
    total = len(added) + len(removed)
    work.run.report(TaskProgress("commit", files_total=total))
    objects = await work.access.objects()
    directory = opened(objects, work.access.table.location)
    vectors = added.table.column("deletion_vector")
    await write_vectors(
        vectors if added.live is None else vectors.filter(added.live), source.derived, directory
    )
    content = await anyio.to_thread.run_sync(partial(_content, before, after, added, removed))
    await commit(directory, version, content)
    work.run.report(TaskProgress("commit", files_done=total, files_total=total, bytes_done=added.size))
    return TaskResult(
        f"the table is a Delta table at version {version}, of the same data files",
        further={**_counts(version), "files_added": len(added), "files_removed": len(removed)},
    )


def _changed(before: Snapshot | None, after: Snapshot) -> tuple[FileSet, FileSet]:
    """The files to add and to remove."""
    if before is None:
        return after.files, FileSet.of(())
    removed = difference(before.files, after.files)
    if before.metadata.configuration.get(_MODE) != after.metadata.configuration.get(_MODE):
        return after.files, removed  # statistics call the columns otherwise
    return difference(after.files, before.files), removed


def _content(before: Snapshot | None, after: Snapshot, added: FileSet, removed: FileSet) -> bytes:
    now = time.time_ns() // 1_000_000
    info = {
        "timestamp": now,
        "operation": "CONVERT",
        "operationParameters": {"source": "iceberg", "snapshotVersion": str(after.version)},
        "engineInfo": "Sluicegate",
    }
    known = before is not None and before.protocol == after.protocol
    protocol = None if known else after.protocol
    content = b"".join((head(info, protocol, after.metadata), *removes(removed, now), *adds(added)))
    if len(content) > _LARGEST:
        raise TaskFailed(
            f"the table has too many files for one commit of a Delta log ({len(added)}): compact it",
            error_code="INVALID_PAYLOAD",
        )
    return content


def _counts(version: int) -> dict[str, int | str]:
    return {"delta_version": version}
