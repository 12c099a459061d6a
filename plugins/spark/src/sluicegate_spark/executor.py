"""Runs tasks of the delegation service on Spark."""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.api import (
    DelegatedTask,
    ExecutorContext,
    SnapshotIndexes,
    TaskExecutor,
    TaskFailed,
    TaskResult,
    TaskRun,
)
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.rest.responses import GenericTable
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.copies.config import MATERIALIZED
from sluicegate_spark.engine import Engine
from sluicegate_spark.failures import errors_without_values
from sluicegate_spark.granted_locations import check_catalog
from sluicegate_spark.jvm.requirements import require
from sluicegate_spark.materialization import REFRESH_MATERIALIZATION
from sluicegate_spark.operations import OF_DELTA_TABLES, OPERATIONS
from sluicegate_spark.payload_config import AllowedEndpoints
from sluicegate_spark.purge import (
    TABLE_PURGE,
    dropped_table,
    finished_result,
    has_purged_metadata,
)
from sluicegate_spark.snapshot_index import BUILD_SNAPSHOT_INDEX, build_snapshot_index
from sluicegate_spark.tables import StorageRules, Table, TableAccess, TableDropped, TaskCatalog
from sluicegate_spark.usage import COLLECT_USAGE
from sluicegate_spark.work import Work


class SparkExecutor(TaskExecutor):
    """Runs each operation on a separate Spark session."""

    def __init__(self, config: SparkConfig, indexes: SnapshotIndexes | None = None) -> None:
        self._config = config
        self._indexes = indexes
        self._engine = Engine(config)
        self._catalogs: Mapping[str, TaskCatalog] = {
            name: TaskCatalog.configured(name, section) for name, section in config.catalogs.items()
        }

    @classmethod
    def configured(cls, config: SparkConfig, context: ExecutorContext) -> SparkExecutor:
        """Return the executor that a section configures. Spark starts with the first task."""
        require(config)
        return cls(config, context.snapshot_indexes)

    async def acquire(self, task: DelegatedTask) -> TableAccess | None:
        """Access to the task's table, or `None` if it is gone after earlier attempts of a purge."""
        with errors_without_values():
            return await self._acquired(task)

    async def _acquired(self, task: DelegatedTask) -> TableAccess | None:
        if task.operation in (COLLECT_USAGE, BUILD_SNAPSHOT_INDEX):
            return None  # their directories and credentials are those of the configuration
        if task.operation == REFRESH_MATERIALIZATION:
            return self._copy(task)
        if task.table.catalog in self._catalogs:
            check_catalog(task)
        try:
            table = await self._table(task)
        except TableDropped as dropped:
            return await self._dropped(task, dropped)
        except TaskFailed as failed:
            _check_purged(task, failed)
            return None
        return await self._opened(task, table)

    async def _dropped(self, task: DelegatedTask, dropped: TableDropped) -> TableAccess | None:
        """Return access to a dropped table, as the payload of its purge describes it.

        Catalogs may drop a table first, and submit its purge then. `None` if earlier attempts deleted
        the metadata, and nothing more can be opened.
        """
        try:
            table = dropped_table(task) if task.operation == TABLE_PURGE else None
            if table is None:
                raise dropped
            return await self._opened(task, table)
        except TaskFailed as failed:
            _check_purged(task, failed)
            return None

    async def _opened(self, task: DelegatedTask, table: Table) -> TableAccess:
        access = TableAccess(table, task, rules=self._rules(task))
        access.granted.check(each for each in (table.location, table.metadata_location) if each)
        if not access.is_local_delta:
            await access.objects()
        return access

    async def run(self, task: DelegatedTask, resources: TableAccess | None, run: TaskRun) -> TaskResult:
        """Run the task's operation; see `TaskExecutor.run`."""
        with errors_without_values():
            return await self._run(task, resources, run)

    async def _run(
        self, task: DelegatedTask, resources: TableAccess | None, run: TaskRun
    ) -> TaskResult:
        if task.operation == COLLECT_USAGE:
            # Imported with the first such task, because it imports Arrow.
            from sluicegate_spark.usage.operation import collect

            return await collect(self._config.usage, self._engine, task, run)
        if task.operation == BUILD_SNAPSHOT_INDEX:
            return await build_snapshot_index(self._indexes, self._config.index_catalogs, task, run)
        if resources is None:
            return finished_result(task, run)
        if task.operation != REFRESH_MATERIALIZATION:
            resources.during(run)
        return await OPERATIONS[task.operation](
            Work(
                task,
                resources,
                self._engine,
                run,
                self._catalogs,
                self._config.deletions_per_second,
                self._config.files_in_worker,
                self._config.materialized,
            )
        )

    async def aclose(self) -> None:
        """Stop Spark and close connections."""
        await self._engine.aclose()
        for catalog in self._catalogs.values():
            await catalog.client.aclose()

    def _copy(self, task: DelegatedTask) -> TableAccess:
        """Return access to a copy, with the configured credentials instead of those of the task."""
        from sluicegate_spark.materialization.operation import configured_copy
        from sluicegate_spark.materialization.sources import copy_access

        if task.table.catalog != MATERIALIZED:
            raise TaskFailed(
                f"the catalog of {REFRESH_MATERIALIZATION} is '{MATERIALIZED}'",
                error_code="INVALID_PAYLOAD",
            )
        check_catalog(task)
        materialized, name = configured_copy(self._config.materialized, task)
        return copy_access(task, materialized, materialized.directory(name))

    async def _table(self, task: DelegatedTask) -> Table:
        name = TableName(task.table.namespace, task.table.name)
        catalog = self._catalogs.get(task.table.catalog)
        if catalog is None or (task.operation in OF_DELTA_TABLES and "location" in task.properties):
            return _described_by_payload(task)
        loaded = await catalog.load(name)
        if isinstance(loaded, GenericTable):
            return _generic(name, catalog, loaded)
        return Table(
            name,
            catalog,
            loaded.metadata.location.rstrip("/"),
            loaded.metadata_location,
            loaded.config,
            table_id=loaded.metadata.identity,
        )

    def _rules(self, task: DelegatedTask) -> StorageRules:
        entry = self._config.catalogs.get(task.table.catalog)
        known = {} if entry is None else entry.file_io
        own = {name: value.get_secret_value() for name, value in known.items()}
        return StorageRules(AllowedEndpoints(frozenset(self._config.endpoints)), own)


def _generic(name: TableName, catalog: TaskCatalog, found: GenericTable) -> Table:
    if found.format.lower() != "delta" or not found.base_location:
        raise TaskFailed(
            f"the catalog '{catalog.name}' has a table of that name that is neither an Iceberg "
            "table nor a Delta table with a location",
            error_code="INVALID_PAYLOAD",
        )
    return Table(name, catalog, found.base_location.rstrip("/"), None, {}, "delta")


def _check_purged(task: DelegatedTask, failed: TaskFailed) -> None:
    """Accept that a table can't be opened if earlier attempts deleted its metadata."""
    if failed.retryable or not has_purged_metadata(task):
        raise failed


def _described_by_payload(task: DelegatedTask) -> Table:
    """Return the table as described by the payload, if its catalog is not configured."""
    table = Table.of_payload(task)
    if table is None:
        raise TaskFailed(
            f"the catalog '{task.table.catalog}' is not configured for the executor, and the "
            "payload does not contain the table's location: it needs metadata, metadata_location "
            "or the property 'location'",
            error_code="INVALID_PAYLOAD",
        )
    return table
