"""Iceberg tables of many tiny files on an S3 server, and the executor that purges them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import obstore
from pyiceberg.catalog.sql import SqlCatalog
from support.tables.purged_tables import ROWS, config_of, handed_over, name_files, own_catalog

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_testing.executors import RecordedRun
from sluicegate_testing.servers.seaweedfs import SeaweedFS

SIZE = 100
_AT_ONCE = 16
_FILES_OF_MANIFEST = 5_000


def write_files(server: SeaweedFS, folder: str, files: int) -> list[str]:
    """Write tiny files, and return their sorted keys."""
    keys = [f"{folder}/data/part-{number:07}.parquet" for number in range(files)]
    store, data = server.store(), bytes(SIZE)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda key: obstore.put(store, key, data), keys))
    return keys


class Purges:
    """Purges tables with the executor `spark`, as a worker of the delegation service does."""

    def __init__(self, server: SeaweedFS, folder: Path, cores: int) -> None:
        self._server = server
        self._catalog: SqlCatalog = own_catalog(server, folder)
        conf = {
            "spark.local.dir": str(folder / "spark"),
            "spark.driver.memory": "1g",
            "spark.log.level": "FATAL",
        }
        self._executor = SparkExecutor(
            SparkConfig.model_validate(
                {"master": f"local[{cores}]", "conf": conf, "endpoints": ["127.0.0.1"]}
            )
        )

    async def purge(self, task: DelegatedTask) -> float:
        """Run a task, and return the seconds from its lease to its end."""
        name = task.table.name
        objects = self._objects(name)
        run = RecordedRun()
        began = time.monotonic()
        access = await self._executor.acquire(task)
        result = await self._executor.run(task, access, run)
        seconds = time.monotonic() - began
        if result.files_deleted != len(objects) or self._objects(name):
            raise RuntimeError(f"{result.files_deleted} of {len(objects)} files were deleted")
        return seconds

    async def aclose(self) -> None:
        """Stop Spark."""
        await self._executor.aclose()

    def task(self, name: str, files: int) -> DelegatedTask:
        """Write a table, and return the task that purges it."""
        table = self._catalog.create_table(f"eu.{name}", ROWS.schema)
        bucket, keys = self._server.bucket, write_files(self._server, f"eu/{name}", files)
        for start in range(0, files, _FILES_OF_MANIFEST):
            part = keys[start : start + _FILES_OF_MANIFEST]
            name_files(table, [f"s3://{bucket}/{key}" for key in part], SIZE)
        given = handed_over(table, config_of(self._server))
        identity = TableIdentity(name, given.pop("catalog"), ("eu",), name)
        grant = RealmGrant(locations=(f"s3://{bucket}/",))
        return DelegatedTask(name, "TABLE_PURGE", "prod", identity, grant=grant, **given)

    def _objects(self, name: str) -> Sequence[str]:
        listing = obstore.list(self._server.store(), prefix=f"eu/{name}").collect()
        return [each["path"] for each in listing]
