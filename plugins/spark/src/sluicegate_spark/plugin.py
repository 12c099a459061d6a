"""What the plugin offers to the delegation service. Nothing here imports PySpark."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import TaskExecutorType, hookimpl
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.operations import OPERATIONS


@hookimpl
def sluicegate_register_task_executors() -> Sequence[TaskExecutorType]:
    """The task executor `spark`."""
    return [
        TaskExecutorType(
            "spark",
            tuple(OPERATIONS),
            SparkConfig,
            SparkExecutor.configured,
            lambda config: config.catalogs,
        )
    ]
