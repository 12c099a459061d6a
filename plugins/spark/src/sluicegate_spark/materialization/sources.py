"""Opens the sources of a copy, each with its own credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sluicegate.api import DelegatedTask, SecretStr, Unavailable
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.rest.responses import GenericTable, TableMetadata
from sluicegate_spark.config import SparkCatalogConfig
from sluicegate_spark.copies.config import CopyConfig, MaterializedConfig, SourceConfig, overlaps
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.granted_files import check_delta_files, check_iceberg_files
from sluicegate_spark.granted_locations import GrantedLocations
from sluicegate_spark.maintenance.catalog_settings import CATALOG, catalog_settings
from sluicegate_spark.maintenance.session import set_http_client
from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.maintenance.storage_settings import for_hadoop, hadoop_location
from sluicegate_spark.materialization.copy_state import Base, keyed_digest
from sluicegate_spark.materialization.failures import unfit
from sluicegate_spark.materialization.incremental.delta_changes import changes_of_delta, commits_between
from sluicegate_spark.materialization.incremental.iceberg_changes import changes_of_iceberg
from sluicegate_spark.materialization.incremental.rules import RebuildRequired
from sluicegate_spark.materialization.incremental.source_version import SourceChanges, SourceVersion
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
_FEED: Final = "delta.enableChangeDataFeed"
_ESCAPE: Final = re.compile("%(2E|25)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A source of a copy."""

    access: TableAccess
    settings: Mapping[str, str | SecretStr]
    snapshot_id: int | None = None
    schema_id: int | None = None

    @property
    def _is_delta(self) -> bool:
        return self.access.table.format == "delta"

    @property
    def location(self) -> str:
        """The directory of the table."""
        return self.access.table.location

    async def prepare(self, session: TaskSession) -> None:
        """Prepare the session, and ensure that all files of the table are granted to the task."""
        if self._is_delta:
            await check_delta_files(self.access)
        else:
            await session.run(set_http_client)
            await check_iceberg_files(self.access, session)

    def version(self, spark: SparkSession) -> SourceVersion:
        """Return the current version of the table."""
        from pyspark.errors import AnalysisException

        if not self._is_delta:
            return self._iceberg_version(spark)
        name = f"delta.{identifier(hadoop_location(self.location))}"
        try:
            detail: Any = spark.sql(f"DESCRIBE DETAIL {name}").first()
        except AnalysisException as error:
            if error.getCondition() in NO_TABLE:
                raise unfit(f"there is no Delta table at {self.location}") from error
            raise
        latest: Any = spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").first()
        identity, number = str(detail["id"]), int(latest["version"])
        return SourceVersion(
            f"{identity}@{number}",
            identity,
            number,
            int(detail["sizeInBytes"]),
            has_feed=detail["properties"].get(_FEED) == "true",
        )

    def rows(self, spark: SparkSession, version: SourceVersion) -> DataFrame:
        """Return the rows of a version of the table, or of the current one if it has no number."""
        reader = (
            spark.read if version.number is None else spark.read.option("versionAsOf", version.number)
        )
        if self._is_delta:
            return reader.format("delta").load(hadoop_location(self.location))
        return reader.table(identifier(*self._name))

    def base(
        self, spark: SparkSession, copy: CopyConfig, version: SourceVersion, key: bytes
    ) -> Base | None:
        """Return where the refresh after one that reads a version begins, or `None` if it can't."""
        if version.number is None:
            return None
        basis = keyed_digest(key, copy.model_dump(mode="json"), version.identity)
        if not self._is_delta:
            return Base(basis, version.number)
        location, number = hadoop_location(self.location), version.number
        try:
            [commit] = commits_between(spark, location, number, number, key)
        except RebuildRequired:
            return None
        return Base(basis, number, commit.digest)

    def changes(
        self, spark: SparkSession, base: Base, version: SourceVersion, key: bytes
    ) -> SourceChanges:
        """Return the rows that were added between two versions, and those that were removed."""
        if self._is_delta:
            return changes_of_delta(spark, hadoop_location(self.location), base, version, key)
        return changes_of_iceberg(spark, self._name, base, version)

    @property
    def _name(self) -> tuple[str, ...]:
        name = self.access.table.name
        return (CATALOG, *name.namespace, name.name)

    def _iceberg_version(self, spark: SparkSession) -> SourceVersion:
        table = self.access.table
        number = self.snapshot_id
        if number is not None and self._schema_of_snapshot(spark, number) != self.schema_id:
            # Spark would read the snapshot with its own columns, of which some might be dropped now.
            number = None
        return SourceVersion(str(table.metadata_location), f"{table.table_id}#{self.schema_id}", number)

    def _schema_of_snapshot(self, spark: SparkSession, number: int) -> int | None:
        entries = spark.table(identifier(*self._name, "metadata_log_entries"))
        found: Any = entries.where(f"latest_snapshot_id = {number}").select("latest_schema_id").first()
        return None if found is None or found[0] is None else int(found[0])


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
    """Return settings of a session that open a Delta table."""
    credentials = await access.credentials_of_task()
    if credentials is not None:
        return dict(for_hadoop(credentials))
    if access.table.location.startswith("file:"):
        return {}
    raise vending_failed(
        f"no credentials for {access.table.location}: set them in materialized.file_io of the executor"
    )


async def open_sources(work: Work, materialized: MaterializedConfig, name: str) -> dict[str, Source]:
    """Return the sources of a copy by name."""
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
    access, metadata = await _iceberg_access(work.task, catalog, str(section.table))
    try:
        objects = await access.objects()
        settings = dict(await catalog_settings(catalog, objects.credentials))
        return Source(access, settings, metadata.snapshot_id, metadata.schema_id)
    except Unavailable as error:
        raise vending_failed(error.message, retryable=True, detail=error.detail) from error


async def _iceberg_access(
    task: DelegatedTask, catalog: TaskCatalog, table: str
) -> tuple[TableAccess, TableMetadata]:
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
    return access, loaded.metadata


def _unescaped(name: str) -> str:
    return _ESCAPE.sub(lambda found: "." if found[1].upper() == "2E" else "%", name)
