"""Registers the plugin with the delegation service, without importing PySpark."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import TaskExecutorType, hookimpl
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.operations import OPERATIONS
from sluicegate_spark.snapshot_index import BUILD_SNAPSHOT_INDEX
from sluicegate_spark.usage import COLLECT_USAGE

sluicegate_api_version = "1.1"


@hookimpl
def sluicegate_register_task_executors() -> Sequence[TaskExecutorType]:
    """Return the task executor `spark`."""
    return [
        TaskExecutorType(
            "spark",
            (*OPERATIONS, COLLECT_USAGE, BUILD_SNAPSHOT_INDEX),
            SparkConfig,
            SparkExecutor.configured,
            lambda config: config.catalog_names,
        )
    ]
