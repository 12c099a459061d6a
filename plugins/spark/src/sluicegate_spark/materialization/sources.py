"""Opens the sources of a copy, each with its own credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sluicegate.api import DelegatedTask, SecretStr, Unavailable
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.rest.responses import GenericTable
from sluicegate_spark.config import SparkCatalogConfig
from sluicegate_spark.copies.config import MaterializedConfig, SourceConfig, overlaps
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.granted_files import check_delta_files, check_iceberg_files
from sluicegate_spark.granted_locations import GrantedLocations
from sluicegate_spark.maintenance.catalog_settings import CATALOG, catalog_settings
from sluicegate_spark.maintenance.session import set_http_client
from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.maintenance.storage_settings import for_hadoop, hadoop_location
from sluicegate_spark.materialization.failures import unfit
from sluicegate_spark.tables import StorageRules, Table, TableAccess, TaskCatalog, vending_failed
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Settings = dict[str, str | SecretStr]
NO_TABLE: Final = (
    "DELTA_TABLE_ONLY_OPERATION",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_PATH_DOES_NOT_EXIST",
)
"""Conditions of Spark's errors about locations without a Delta table."""
_ESCAPE: Final = re.compile("%(2E|25)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A source of a copy.

    Attributes:
        access: The table, and its credentials.
        settings: Settings of the session that opens it.
    """

    access: TableAccess
    settings: Mapping[str, str | SecretStr]

    @property
    def _is_delta(self) -> bool:
        return self.access.table.format == "delta"

    @property
    def location(self) -> str:
        """The directory of the table."""
        return self.access.table.location

    async def prepare(self, session: TaskSession) -> None:
        """Prepare the session, and ensure that all files of the table are granted to the task.

        Raises:
            TaskFailed: Some are not (`NOT_GRANTED`).
        """
        if self._is_delta:
            await check_delta_files(self.access)
        else:
            await session.run(set_http_client)
            await check_iceberg_files(self.access, session)

    def version(self, spark: SparkSession) -> str:
        """Return a text that is different after every change of the table.

        Raises:
            TaskFailed: There is no such Delta table (`INVALID_PAYLOAD`).
        """
        from pyspark.errors import AnalysisException

        if not self._is_delta:
            return str(self.access.table.metadata_location)
        name = f"delta.{identifier(hadoop_location(self.location))}"
        try:
            detail: Any = spark.sql(f"DESCRIBE DETAIL {name}").first()
        except AnalysisException as error:
            if error.getCondition() in NO_TABLE:
                raise unfit(f"there is no Delta table at {self.location}") from error
            raise
        latest: Any = spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").first()
        return f"{detail['id']}@{latest['version']}"

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the rows of the table's current version."""
        if self._is_delta:
            return spark.read.format("delta").load(hadoop_location(self.location))
        name = self.access.table.name
        return spark.table(identifier(CATALOG, *name.namespace, name.name))


def copy_access(task: DelegatedTask, materialized: MaterializedConfig, location: str) -> TableAccess:
    """Return access to a Delta table that the configuration names, with the configured credentials.

    Credentials of the task are not used: the configuration alone decides what a copy contains.
    """
    own = {name: value.get_secret_value() for name, value in materialized.file_io.items()}
    table = Table(TableName(("copies",), "copy"), None, location, None, {}, "delta")
    access = TableAccess(table, replace(task, config=None), rules=StorageRules(own=own))
    access.granted = GrantedLocations(task.realm, task.grant, of_catalog=True)
    access.granted.check([location])
    return access


async def delta_settings(access: TableAccess) -> Settings:
    """Return settings of a session that open a Delta table.

    Raises:
        TaskFailed: It is in a store, and no credentials are configured.
    """
    credentials = await access.credentials_of_task()
    if credentials is not None:
        return dict(for_hadoop(credentials))
    if access.table.location.startswith("file:"):
        return {}
    raise vending_failed(
        f"no credentials for {access.table.location}: set them in materialized.file_io of the executor"
    )


async def open_sources(work: Work, materialized: MaterializedConfig, name: str) -> dict[str, Source]:
    """Return the sources of a copy by name.

    Raises:
        TaskFailed: A source is missing or not granted, no credentials are available, or its directory
            and that of the copy contain each other.
    """
    copy = materialized.tables[name]
    opened = {}
    for alias, section in copy.tables.items():
        source = await _opened(work, materialized, section)
        if overlaps(source.location, materialized.directory(name)):
            raise unfit("the directories of the copy and of its source contain each other")
        opened[alias] = source
    return opened


async def _opened(work: Work, materialized: MaterializedConfig, section: SourceConfig) -> Source:
    if section.location is not None:
        access = copy_access(work.task, materialized, section.location)
        return Source(access, await delta_settings(access))
    catalog = work.catalogs[str(section.catalog)]
    access = await _iceberg_access(work.task, catalog, str(section.table))
    try:
        objects = await access.objects()
        return Source(access, dict(await catalog_settings(catalog, objects.credentials)))
    except Unavailable as error:
        raise vending_failed(error.message, retryable=True, detail=error.detail) from error


async def _iceberg_access(task: DelegatedTask, catalog: TaskCatalog, table: str) -> TableAccess:
    *namespace, last = (_unescaped(part) for part in table.split("."))
    name = TableName(tuple(namespace), last)
    loaded = await catalog.load(name)
    if isinstance(loaded, GenericTable):
        raise unfit(f"{table} is not an Iceberg table; set the location of a Delta table instead")
    location = loaded.metadata.location.rstrip("/")
    opened = Table(
        name,
        catalog,
        location,
        loaded.metadata_location,
        loaded.config,
        table_id=loaded.metadata.identity,
    )
    section = catalog.config
    known = section.file_io if isinstance(section, SparkCatalogConfig) else {}
    own = {key: value.get_secret_value() for key, value in known.items()}
    access = TableAccess(opened, replace(task, config=None), rules=StorageRules(own=own))
    access.granted.check(each for each in (location, loaded.metadata_location) if each)
    return access


def _unescaped(name: str) -> str:
    return _ESCAPE.sub(lambda found: "." if found[1].upper() == "2E" else "%", name)
