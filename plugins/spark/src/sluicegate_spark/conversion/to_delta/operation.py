"""CONVERT_TO_DELTA: commits the current snapshot of an Iceberg table to a Delta log in its directory.

The log describes the Iceberg table in the same way as the gateway shares it (docs/adr/0016).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sluicegate.api import TableUnreadable, TaskFailed, TaskProgress, TaskResult
from sluicegate.formats import FileSet, Snapshot, TableProtocol
from sluicegate_iceberg.format.manifests.field_ids import MOST_FILES
from sluicegate_spark.conversion.origin import MIRROR_FEATURE, Origin
from sluicegate_spark.conversion.to_delta.checkpoints import (
    INTERVAL,
    checkpoint_if_due,
    write_checkpoint,
)
from sluicegate_spark.conversion.to_delta.column_bounds import ColumnBounds
from sluicegate_spark.conversion.to_delta.converted_table import (
    FILES,
    MODE,
    ConvertedTable,
    check_commit_size,
    converted,
)
from sluicegate_spark.conversion.to_delta.deletion_vectors import (
    log_descriptors,
    write_deletion_vectors,
)
from sluicegate_spark.conversion.to_delta.delta_log import add_lines, commit, remove_lines
from sluicegate_spark.conversion.to_delta.distributed.conversion import ClusterConversion
from sluicegate_spark.conversion.to_delta.distributed.log_files import LogHead, read_head
from sluicegate_spark.conversion.to_delta.distributed.scope import Manifests
from sluicegate_spark.conversion.to_delta.iceberg_source import IcebergSource, iceberg_source
from sluicegate_spark.delta_reader import delta_snapshot
from sluicegate_spark.granted_files import check_file_set
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work


def difference(files: FileSet, others: FileSet) -> FileSet:
    """Return files that the others don't contain with the same deleted rows."""
    known = _keys(others)
    if others.live is not None:
        known = known.filter(others.live)
    mask = pc.invert(pc.is_in(_keys(files), known))
    return files.where(mask)


def _keys(files: FileSet) -> pa.Array:
    texts = [
        pc.binary_join_element_wise(
            batch.column("path"),
            pc.struct_field(
                log_descriptors(batch.column("deletion_vector")), "pathOrInlineDv"
            ).fill_null(""),
            "\n",
        )
        for batch in files.table.to_batches()
    ]
    return pa.chunked_array(texts, pa.string()).combine_chunks()


_LINE: Final = 2000  # bytes of a file in a log, with many columns


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
    """Convert the Iceberg table of a task to a Delta table, or update an earlier conversion."""
    properties = parse(ToDelta, work.task.properties)
    objects = await work.access.objects()
    source = await iceberg_source(work.access.table, objects)
    origin = Origin(source.id, source.metadata_location, source.metadata.last_updated)
    try:
        head = await anyio.to_thread.run_sync(read_head, source.directory)
    except TableUnreadable:  # the gateway's reader might be able to read it, or describes the error
        return await _convert_here(work, source, origin, properties)
    if head is not None and _is_up_to_date(origin, head.configuration, head.protocol):
        return _unchanged(head.version)
    current = Manifests.of(await source.manifests())
    if not _is_large(work, source, current, head):
        return await _convert_here(work, source, origin, properties)
    work.run.report(TaskProgress("read"))
    recorded = _recorded(origin, properties, {} if head is None else head.configuration)
    conversion = ClusterConversion(work, source, current, head, recorded, writable=properties.writable)
    return await conversion.run()


def _is_large(work: Work, source: IcebergSource, current: Manifests, head: LogHead | None) -> bool:
    """Return whether a table, or the log of its conversion, is too large for the worker."""
    files, most = current.files, work.files_in_worker
    if source.metadata.name_mapping and (files is None or files <= MOST_FILES):
        return False  # footers of data files might be read
    segment = () if head is None else next(head.files.segments(head.version), ())
    size = sum(file.size for file in segment)
    return files is None or files > most or size > most * _LINE


async def _convert_here(
    work: Work, source: IcebergSource, origin: Origin, properties: ToDelta
) -> TaskResult:
    """Convert a table in the worker, without Spark."""
    location = work.access.table.location
    before = await delta_snapshot(await work.access.objects(), location)
    if before is not None and _is_up_to_date(origin, before.metadata.configuration, before.protocol):
        return _unchanged(before.version)
    work.run.report(TaskProgress("read"))
    snapshot = await source.snapshot()
    await check_file_set(work.access.granted, snapshot.files, location)
    recorded = _recorded(origin, properties, {} if before is None else before.metadata.configuration)
    table = ConvertedTable.marked(
        (snapshot.version, snapshot.timestamp, snapshot.protocol, snapshot.metadata),
        None if before is None else before.protocol,
        {**recorded, FILES: str(_distinct(snapshot.files))},
        writable=properties.writable,
    )
    after = replace(snapshot, protocol=table.protocol, metadata=table.metadata)
    version = 0 if before is None else before.version + 1
    result = await _written(work, source, before, after, table, version)

    async def write(now: datetime) -> None:
        directory = (await work.access.objects()).directory(location)
        await anyio.to_thread.run_sync(write_checkpoint, directory, version, after, now)

    await checkpoint_if_due(location, version, after.metadata.configuration, write)
    return result


def _is_up_to_date(origin: Origin, configuration: Mapping[str, str], protocol: TableProtocol) -> bool:
    recorded = Origin.of(configuration)
    if origin.is_contained_in(recorded, "a Delta table in the table's directory"):
        return True
    if MIRROR_FEATURE not in (protocol.writer_features or ()):
        raise TaskFailed(
            "the Delta table was made writable, so conversions no longer update it",
            error_code="INVALID_PAYLOAD",
        )
    return False


def _unchanged(version: int) -> TaskResult:
    return TaskResult(
        "the Delta table already contains this snapshot", further={"delta_version": version}
    )


def _recorded(origin: Origin, properties: ToDelta, before: Mapping[str, str]) -> dict[str, str]:
    """Return the origin and the checkpoint interval: the task's, or else the table's own."""
    interval = properties.checkpoint_interval or before.get(INTERVAL)
    return {**origin.properties(), **({} if interval is None else {INTERVAL: str(interval)})}


def _distinct(files: FileSet) -> int:
    return int(pc.count_distinct(files.table.column("path")).as_py())


async def _written(
    work: Work,
    source: IcebergSource,
    before: Snapshot | None,
    after: Snapshot,
    table: ConvertedTable,
    version: int,
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
    content = await anyio.to_thread.run_sync(partial(_content, table, added, removed))
    await work.run.check_lease()
    await commit(directory, version, content)
    work.run.report(TaskProgress("commit", files_done=total, files_total=total, bytes_done=added.size))
    return converted(version, len(added), len(removed))


def _changed(before: Snapshot | None, after: Snapshot) -> tuple[FileSet, FileSet]:
    """Return the files to add and the files to remove."""
    if before is None:
        return after.files, FileSet.of(())
    removed = difference(before.files, after.files)
    if before.metadata.configuration.get(MODE) != after.metadata.configuration.get(MODE):
        return after.files, removed  # statistics contain other column names
    return difference(after.files, before.files), removed


def _content(table: ConvertedTable, added: FileSet, removed: FileSet) -> bytes:
    now = time.time_ns() // 1_000_000
    bounds = ColumnBounds.of(table.metadata)
    lines = (table.header(now), *remove_lines(removed, now), *add_lines(added, bounds))
    content = b"".join(lines)
    check_commit_size(len(content), len(added))
    return content
