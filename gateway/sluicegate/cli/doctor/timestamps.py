"""Finds timestamps that readers of Parquet's type INT96 misread.

Readers that count nanoseconds since 1970 in 64 bits, such as pandas and PyIceberg, read INT96 outside
of the years 1677 to 2262 as other timestamps, without an error. Spark writes INT96 by default, and
`0001-01-01` and `9999-12-31` are common for "no date".
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import orjson

from sluicegate.api.errors import SluicegateError
from sluicegate.cli.doctor.failures import failure_text
from sluicegate.cli.doctor.results import Finding
from sluicegate.cli.doctor.shared_tables import DeclaredTable, declared_tables
from sluicegate.config import Settings

if TYPE_CHECKING:
    from sluicegate.plugins import Instances
    from sluicegate.tables.reading.reader import TableReader
    from sluicegate.tables.snapshot import Snapshot

# The microseconds since 1970 of which nanoseconds fit in 64 bits.
_LAST = ((1 << 63) - 1) // 1000
_FIRST = -_LAST
_MOST_TABLES = 100
_MOST_FILES = 100_000  # of a table; statistics are decoded one by one
_CACHE_BYTES = 1
_REMEDY = (
    "pandas and PyIceberg misread them if the data files have the type INT96, which Spark writes by "
    "default: rewrite the table with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS, or "
    "recommend Spark to recipients"
)


async def check_timestamps(settings: Settings, instances: Instances) -> AsyncIterator[Finding]:
    """Read the statistics of the Delta tables that are declared one by one."""
    from sluicegate.tables.delta.format import DeltaFormat
    from sluicegate.tables.reading.reader import TableReader

    reader = TableReader({"delta": DeltaFormat()}, _CACHE_BYTES, settings.limits.table.limits)
    checked = 0
    try:
        for table in (await declared_tables(settings))[:_MOST_TABLES]:
            try:
                names = await _columns(table, instances, reader)
            except SluicegateError as error:
                yield Finding("skipped", f"{table.name}: {failure_text(error)}")
                continue
            if names is None:
                continue
            checked += 1
            for name in names:
                yield Finding(
                    "warning",
                    f"{table.name}: the column '{name}' has timestamps before 1678 or after 2261",
                    _REMEDY,
                )
    finally:
        await reader.aclose()
    if checked:
        yield Finding("ok", f"the statistics of {checked} declared Delta tables were read")
    else:
        yield Finding("skipped", "no Delta table is declared")


async def _columns(table: DeclaredTable, instances: Instances, reader: TableReader) -> list[str] | None:
    """The columns with such timestamps; `None` if it is no Delta table."""
    source = await instances.catalog(table.catalog).load_table(table.identifier)
    if source.format != "delta":
        return None
    directory = await instances.open_location(source.location)
    return columns_beyond_nanoseconds(await reader.latest(source, directory))


def columns_beyond_nanoseconds(snapshot: Snapshot) -> list[str]:
    """The names of columns whose statistics have timestamps beyond nanoseconds in 64 bits.

    Only columns of the type `timestamp` at the top of the schema are considered, because INT96 is used
    for no other type. Partition columns are not in data files.
    """
    import pyarrow.compute as pc

    from sluicegate.tables.derived_columns import DerivedColumns
    from sluicegate.tables.predicates.bounds import file_bounds
    from sluicegate.tables.predicates.columns import find_column

    metadata = snapshot.metadata
    names = [
        str(field["name"])
        for field in orjson.loads(metadata.schema_string)["fields"]
        if field["type"] == "timestamp" and field["name"] not in metadata.partition_columns
    ]
    found = [(name, column) for name in names if (column := find_column(metadata, (name,)))]
    beyond, files = dict[str, bool](), 0
    for chunk, _ in snapshot.files.chunks():
        if files > _MOST_FILES:
            break
        files += len(chunk)
        bounds = file_bounds(DerivedColumns(), chunk.stats, [column for _, column in found])
        for (name, _), each in zip(found, bounds, strict=True):
            least, most = pc.min(each.low).as_py(), pc.max(each.high).as_py()
            if (least is not None and least < _FIRST) or (most is not None and most > _LAST):
                beyond[name] = True
    return list(beyond)
