"""Checks the credentials of tables that are shared with `dir`, one table of each catalog."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
from sqlalchemy import ColumnElement, Text, cast, select

from sluicegate.api.errors import SluicegateError
from sluicegate.cli.doctor.database import opened
from sluicegate.cli.doctor.failures import failure_text
from sluicegate.cli.doctor.results import Finding
from sluicegate.cli.doctor.vending import try_credentials
from sluicegate.config import Settings
from sluicegate.database.migrate import HEAD, current_migration
from sluicegate.database.tables import schemas, shared_tables, shares
from sluicegate.database.urls import DatabaseUrl

if TYPE_CHECKING:
    from sluicegate.plugins import Instances

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
    from sluicegate.vending.select import Vendors

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
