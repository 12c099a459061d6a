"""Checks the credentials of tables that are shared with `dir`, one table of each catalog."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
import orjson
from sqlalchemy import ColumnElement, Text, cast, select

from sluicegate.api.errors import SluicegateError
from sluicegate.cli.doctor.database import opened
from sluicegate.cli.doctor.results import Finding, failure_text
from sluicegate.cli.doctor.vending import try_credentials
from sluicegate.config import Settings
from sluicegate.database.migrate import HEAD, current_migration
from sluicegate.database.tables import schemas, shared_tables, shares
from sluicegate.database.urls import DatabaseUrl

if TYPE_CHECKING:
    from sluicegate.plugins import Instances
    from sluicegate.tables.reading.reader import TableReader
    from sluicegate.tables.snapshot import Snapshot


_MOST_TABLES = 1000
_REMEDY = "configure vending for its storage or catalog, or share it with access_modes: [url]"


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """A shared table: its name for recipients, its catalog, and its name there."""

    name: str
    catalog: str
    identifier: str


async def check_shared_tables(settings: Settings, instances: Instances) -> AsyncIterator[Finding]:
    """Request credentials for one shared table of each catalog, and use them."""
    declared = await declared_tables(
        settings, cast(shared_tables.c.access_modes, Text).contains('"dir"')
    )
    if not declared:
        yield Finding("skipped", "no table is declared with access mode dir")
    first_of = dict[str, DeclaredTable]()
    for table in declared:
        first_of.setdefault(table.catalog, table)
    for table in first_of.values():
        try:
            async for finding in _check(table, instances):
                yield replace(finding, message=f"{table.name}: {finding.message}")
        except SluicegateError as error:
            yield Finding("failed", f"{table.name}: {failure_text(error)}", _REMEDY)


async def _check(table: DeclaredTable, instances: Instances) -> AsyncIterator[Finding]:
    from sluicegate.vending.issue import Vendors

    source = await instances.catalog(table.catalog).load_table(table.identifier)
    vendor = Vendors(instances).for_recipients(source, source.location)
    if vendor is None:
        yield Finding("failed", "neither its catalog nor its storage vends credentials", _REMEDY)
        return
    location, storage = instances.storage_for(source.location)
    async for finding in try_credentials(vendor, storage, location.rstrip("/")):
        yield finding


async def declared_tables(settings: Settings, *conditions: ColumnElement[bool]) -> list[DeclaredTable]:
    """The first tables that are declared, by name. None if the database does not exist, or is older."""
    database = DatabaseUrl.parse(settings.database.get_secret_value())
    if database.dialect == "sqlite" and not await anyio.Path(database.target).exists():
        return []
    query = (
        select(shares.c.name, schemas.c.name, shared_tables)
        .join(schemas, schemas.c.id == shared_tables.c.schema_id)
        .join(shares, shares.c.id == schemas.c.share_id)
        .where(*conditions)
        .order_by(shares.c.key, schemas.c.key, shared_tables.c.key)
        .limit(_MOST_TABLES)
    )
    async with opened(database) as connection:
        if await connection.run_sync(current_migration) != HEAD:
            return []
        rows = (await connection.execute(query)).all()
    return [
        DeclaredTable(
            f"{row[0]}.{row[1]}.{row._mapping[shared_tables.c.name]}", row.catalog, row.identifier
        )
        for row in rows
    ]


# The microseconds since 1970 of which nanoseconds fit in 64 bits.
_LAST = ((1 << 63) - 1) // 1000
_FIRST = -_LAST
_MOST_TIMESTAMP_TABLES = 100
_MOST_FILES = 100_000  # of a table; statistics are decoded one by one
_CACHE_BYTES = 1
_TIMESTAMP_REMEDY = (
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
        for table in (await declared_tables(settings))[:_MOST_TIMESTAMP_TABLES]:
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
                    _TIMESTAMP_REMEDY,
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
