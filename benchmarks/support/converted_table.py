"""A Delta table of many files in an S3 store, its converted Iceberg table, and what converts it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
from support.gateways.iceberg_rest import WAREHOUSE, written_by
from support.servers.spark_cluster import OF_DRIVERS
from support.tables.purged_tables import config_of
from support.tasks.spark_tasks import CATALOG, catalogs_of

from benchmarks.support.table import SyntheticTable, file_path
from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity
from sluicegate_iceberg.names import TableName
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.conversion.origin import Origin
from sluicegate_spark.conversion.to_iceberg.attempt import LOG_FILE, Conversion
from sluicegate_spark.conversion.to_iceberg.catalog_commit import next_commit
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.plan import plan_of
from sluicegate_spark.conversion.to_iceberg.table_creation import table_for_snapshot
from sluicegate_spark.conversion.to_iceberg.target_table import TargetTable
from sluicegate_spark.delta_reader import delta_snapshot, delta_version
from sluicegate_spark.engine import Engine
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.tables import TaskCatalog
from sluicegate_spark.work import Work
from sluicegate_testing.executors import RecordedRun
from sluicegate_testing.servers.seaweedfs import SeaweedFS

NAMESPACE, NAME = "eu", "orders"
_BATCH = 8192
_ROWS = 1_000  # of a data file, according to its manifest


def location_of(server: SeaweedFS) -> str:
    """The directory of the Delta table."""
    return f"s3://{server.bucket}/{NAME}"


def write_log(server: SeaweedFS, table: SyntheticTable) -> None:
    """Write the log of the Delta table; its data files are not there."""
    for name, content in table.log():
        obstore.put(server.store(), f"{NAME}/_delta_log/{name}", content)


def commit(server: SeaweedFS, table: SyntheticTable, number: int, changed: int) -> None:
    """Commit to the Delta table: add files, which are there, and remove files of many partitions."""
    first = table.files + number * changed
    rows = pa.table({"order_id": pa.array([1], pa.int64())})
    buffer = io.BytesIO()
    pq.write_table(rows, buffer)
    data = buffer.getvalue()
    added = dict.fromkeys(range(first, first + changed), len(data))
    for row in added:
        obstore.put(server.store(), f"{NAME}/{file_path(row)}", data)
    step = table.files // (2 * changed)
    removed = [step * each + 10 + number for each in range(changed)]
    name, content = table.commit(number, added, removed)
    obstore.put(server.store(), f"{NAME}/_delta_log/{name}", content)


class Conversions:
    """Converts the table with the executor `spark`, as a worker of the delegation service does."""

    def __init__(self, server: SeaweedFS, folder: Path, master: str) -> None:
        self._server = server
        conf = {
            **OF_DRIVERS,
            "spark.driver.memory": "512m",
            "spark.local.dir": str(folder / "spark"),
            "spark.log.level": "FATAL",
        }
        catalogs = {CATALOG: {**catalogs_of(server)[CATALOG], "credentials": "storage"}}
        section = {
            "master": master,
            "conf": conf,
            "catalogs": catalogs,
            "endpoints": ["127.0.0.1"],
        }
        self._config = SparkConfig.model_validate(section)
        self._executor = SparkExecutor(self._config)

    async def convert(self) -> Any:
        """Run a task, and return its result."""
        task = self._task()
        access = await self._executor.acquire(task)
        return await self._executor.run(task, access, RecordedRun())

    async def create(self) -> None:
        """Create the Iceberg table with all files of the Delta table, without Spark and footers."""
        written_by(self._server).create_namespace_if_not_exists(NAMESPACE)
        task = self._task()
        access = await self._executor.acquire(task)
        if access is None:
            raise RuntimeError("the task has no table")
        location, objects = location_of(self._server), await access.objects()
        delta = await delta_version(objects, location)
        snapshot = await delta_snapshot(objects, location)
        if delta is None or snapshot is None:
            raise RuntimeError("the Delta table was not written")
        catalog = TaskCatalog.configured(CATALOG, self._config.catalogs[CATALOG])
        target = TargetTable(catalog, TableName((NAMESPACE,), NAME))
        plan = plan_of(delta, location, None)
        work = Work(task, access, Engine(self._config), RecordedRun(), {CATALOG: catalog})
        conversion = Conversion(
            work, target, plan, Origin(delta.metadata.id, str(delta.version), delta.version)
        )
        async with table_for_snapshot(target, plan, conversion.properties(), None) as created:
            made = next_commit(plan, created)
            writer = await conversion.writer(made.layout, created)
            rows = list(writer.write(_entries(plan.files, snapshot.files)))
            manifest_list = writer.finish(rows)
            described = conversion.snapshot(writer, manifest_list, delta, appends=True)
            del described["summary"][LOG_FILE]  # the next conversion compares all files
            await target.commit(made.requirements, made.updates(conversion.properties(), described))
        await catalog.client.aclose()

    async def aclose(self) -> None:
        """Stop Spark."""
        await self._executor.aclose()

    def _task(self) -> DelegatedTask:
        identity = TableIdentity(NAME, CATALOG, (NAMESPACE,), NAME)
        location = location_of(self._server)
        grant = RealmGrant(
            catalogs=frozenset({CATALOG}),
            locations=(f"s3://{self._server.bucket}/", f"s3://{WAREHOUSE}/"),
        )
        return DelegatedTask(
            "conversion",
            "CONVERT_TO_ICEBERG",
            "prod",
            identity,
            properties={"location": location},
            config=dict(config_of(self._server)),
            grant=grant,
        )


def create_table(server: SeaweedFS, folder: Path, files: int) -> None:
    """Write both tables. For a process of its own: it needs much more memory than a conversion."""
    write_log(server, SyntheticTable(files))
    asyncio.run(Conversions(server, folder, "local[1]").create())


def _entries(format_: EntryFormat, files: Any) -> Iterator[dict[str, Any]]:
    partition_of = lru_cache(format_.partition_values)
    for batch in files.batches(_BATCH):
        partitions = batch.column("partition_values").cast(pa.string()).to_pylist()
        columns = (batch.column(name).to_pylist() for name in ("path", "size", "stats"))
        for path, size, stats, partition in zip(*columns, partitions, strict=True):
            location = f"{format_.location}/{path}"
            yield format_.entry(location, size, _ROWS, stats, partition_of(partition))
