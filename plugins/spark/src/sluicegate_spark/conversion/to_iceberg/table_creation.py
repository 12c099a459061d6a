"""Creates the Iceberg table of a conversion in the catalog, without a snapshot.

Catalogs assign the ids of schemas and partition specs, and some also the ids of columns. Manifests
contain these ids, so they are written after the catalog has created the table (docs/adr/0021).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import uuid4

import anyio

from sluicegate.api import TaskFailed, UnsupportedOperation
from sluicegate_spark.conversion.origin import Origin
from sluicegate_spark.conversion.to_iceberg.catalog_commit import (
    CREATE_REQUIREMENTS,
    creation_updates,
    matches_plan,
)
from sluicegate_spark.conversion.to_iceberg.plan import NAME_MAPPING, SET_NAME_MAPPING, Plan
from sluicegate_spark.conversion.to_iceberg.schema import names_in
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import METADATA_FOLDER
from sluicegate_spark.conversion.to_iceberg.table_metadata import IcebergTableMetadata
from sluicegate_spark.conversion.to_iceberg.target_table import TargetTable

log = logging.getLogger(__name__)

_METADATA_PATH = "write.metadata.path"
_PATIENCE = 30  # seconds to drop a table whose task is being canceled


async def existing_table(
    target: TargetTable, origin: Origin, location: str
) -> IcebergTableMetadata | None:
    """Return the existing table, or `None` if there is none.

    A table that an interrupted attempt left without a snapshot is dropped if that is safe.
    """
    existing = await target.load()
    if existing is None or existing.snapshots:
        return existing
    recorded = Origin.of(existing.properties)
    is_left = recorded is not None and recorded.id == origin.id
    if is_left and await target.drop_empty(existing.table_uuid, location):
        return await target.load()
    return existing


@asynccontextmanager
async def table_for_snapshot(
    target: TargetTable,
    plan: Plan,
    properties: Mapping[str, str],
    existing: IcebergTableMetadata | None,
) -> AsyncIterator[IcebergTableMetadata]:
    """Return the existing table or a new one, to which the block commits a snapshot.

    If the block fails before a new table has a snapshot, the table is dropped. If it is unknown
    whether the catalog committed the snapshot, the table remains, and the next attempt reads it.
    """
    table = existing or await _created(target, plan, properties)
    try:
        if not table.snapshots and not matches_plan(plan, table):
            raise UnsupportedOperation(
                f"the catalog does not create the table {target} with the columns, field ids and "
                "partitions of the Delta table, so readers would confuse columns or read them as "
                "empty: use another catalog"
            )
        check_name_mapping(target, plan, table)
        yield table
    except BaseException as error:
        unknown = isinstance(error, TaskFailed) and error.error_code == "COMMIT_STATE_UNKNOWN"
        if not table.snapshots and not unknown:
            await _abandon(target, table, plan.files.location)
        raise


def check_name_mapping(target: TargetTable, plan: Plan, table: IcebergTableMetadata) -> None:
    """Reject a name mapping to which the catalog added names that files use for other columns."""
    as_set = table.properties.get(SET_NAME_MAPPING)
    added = names_in(table.properties.get(NAME_MAPPING)) - names_in(as_set)
    ambiguous = plan.columns.ambiguous_names
    if as_set is not None and added and ambiguous:
        raise UnsupportedOperation(
            f"the catalog adds column names to the name mapping of the table {target}, so "
            f"'{ambiguous[0]}' would also match another column of older data files: rewrite the data "
            "files of the Delta table, or use another catalog"
        )


async def _created(
    target: TargetTable, plan: Plan, properties: Mapping[str, str]
) -> IcebergTableMetadata:
    # A separate directory until the table has a snapshot: some catalogs delete it with the table.
    directory = f"{plan.files.location}/{METADATA_FOLDER}/{uuid4()}"
    known = {name: value for name, value in properties.items() if name != _METADATA_PATH}
    await target.commit(CREATE_REQUIREMENTS, creation_updates(plan, directory, known))
    table = await target.load()
    if table is None:
        raise TaskFailed(
            f"the catalog confirmed the creation of the table {target}, but does not return the table",
            error_code="STORAGE_FAILED",
            retryable=True,
        )
    return table


async def _abandon(target: TargetTable, table: IcebergTableMetadata, location: str) -> None:
    """Drop a table that got no snapshot. Errors are logged: the task reports the error before them."""
    with anyio.move_on_after(_PATIENCE, shield=True):
        try:
            if await target.drop_empty(table.table_uuid, location):
                return
            why = "its catalog stores its metadata in the directory of the Delta table"
        except TaskFailed as error:
            why = str(error)
        log.warning("the empty table %s was not dropped: %s", target, why)
