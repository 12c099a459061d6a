"""Opens a task's table in a separate Spark session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sluicegate.api import SecretStr, TaskFailed, Unavailable
from sluicegate_spark.cluster import is_connect
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.granted_files import check_delta_files, check_iceberg_files
from sluicegate_spark.maintenance.catalog_settings import CATALOG, HTTP_CLIENT, catalog_settings
from sluicegate_spark.maintenance.progress import watched
from sluicegate_spark.maintenance.sql import SETTINGS, Value, call, identifier
from sluicegate_spark.maintenance.storage_settings import closed_for_hadoop, for_hadoop, hadoop_location
from sluicegate_spark.tables import vending_failed
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Result = TypeVar("_Result")
Rows = list[dict[str, Any]]

DELTA: Final[Mapping[str, str]] = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"
}
_NO_TABLE: Final = (
    "[DELTA_MISSING_DELTA_TABLE",
    "[DELTA_TABLE_NOT_FOUND",
    "[DELTA_TABLE_ONLY_OPERATION",
    "[DELTA_PATH_DOES_NOT_EXIST",
)
_APACHE: Final = "software.amazon.awssdk.http.apache5.Apache5HttpClient"


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table in a session."""

    work: Work
    session: TaskSession
    name: str

    async def run(self, stage: str, call: Callable[[SparkSession], _Result]) -> _Result:
        """Run a function on Spark that might change the table; see `watched`."""
        await self.work.run.check_lease()
        return await watched(self.work, self.session, stage, call)

    async def sql(self, stage: str, statement: str) -> Rows:
        """Return the rows of a statement."""

        def rows(spark: SparkSession) -> Rows:
            return [row.asDict(recursive=True) for row in spark.sql(statement).collect()]

        return await self.run(stage, rows)

    async def procedure(self, name: str, arguments: Mapping[str, Value | None]) -> Rows:
        """Call one of Iceberg's procedures for this table, and return its rows."""
        return await self.sql(name, call(CATALOG, name, {"table": self.name, **arguments}))


@asynccontextmanager
async def iceberg_table(work: Work) -> AsyncIterator[OpenTable]:
    """Return the Iceberg table of a task."""
    table = work.access.table
    if table.format == "delta":
        raise _unfit(f"{work.task.operation} is for Iceberg tables, and this is a Delta table")
    if table.catalog is None:
        raise _unfit(
            f"changing an Iceberg table needs its catalog, but '{work.task.table.catalog}' is not "
            "configured for the executor; if it is a Delta table, set the property 'format' to 'delta'"
        )
    try:
        access = await work.access.objects()
        settings = await catalog_settings(table.catalog, access.credentials)
    except Unavailable as error:
        raise vending_failed(error.message, retryable=True, detail=error.detail) from error
    opened = {**SETTINGS, **closed_for_hadoop(), **settings}
    async with work.engine.session(work.task.id, opened) as session:
        await session.run(set_http_client)
        await check_iceberg_files(work.access, session)
        yield OpenTable(work, session, identifier(CATALOG, *table.name.namespace, table.name.name))


@asynccontextmanager
async def delta_table(work: Work, settings: Mapping[str, str]) -> AsyncIterator[OpenTable]:
    """Return the Delta table of a task, opened only with the task's credentials."""
    table = work.access.table
    if table.format == "iceberg":
        raise _unfit(f"{work.task.operation} is for Delta tables, and this is an Iceberg table")
    await check_delta_files(work.access)
    given = await work.access.credentials_of_task()
    if given is None and not work.access.is_local_delta:
        raise vending_failed(
            "no credentials for the table's files: the task and the catalog's 'file_io' contain none"
        )
    opened: Mapping[str, str | SecretStr] = {} if given is None else for_hadoop(given)
    async with work.engine.session(
        work.task.id, {**SETTINGS, **DELTA, **settings, **closed_for_hadoop(), **opened}
    ) as session:
        try:
            yield OpenTable(work, session, f"delta.{identifier(hadoop_location(table.location))}")
        except TaskFailed as failed:
            if (failed.detail or "").startswith(_NO_TABLE):
                raise _unfit(f"there is no Delta table at {table.location}") from failed
            raise


def set_http_client(spark: SparkSession) -> None:
    """Set an HTTP client that is available: the SDK jars for Hadoop lack Iceberg's default."""
    if is_connect(spark) or spark.conf.get(HTTP_CLIENT, None) is not None:
        return
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(f"{_APACHE.replace('.', '/')}.class") is None:
        spark.conf.set(HTTP_CLIENT, "urlconnection")


def _unfit(why: str) -> TaskFailed:
    return TaskFailed(why, error_code="INVALID_PAYLOAD")
