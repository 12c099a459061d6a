"""The input of an operation, and the type of operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from sluicegate.api import DelegatedTask, TaskResult, TaskRun
from sluicegate_spark.copies.config import MaterializedConfig
from sluicegate_spark.engine import Engine
from sluicegate_spark.tables import TableAccess, TaskCatalog


@dataclass(frozen=True, slots=True)
class Work:
    """One attempt at a task.

    Attributes:
        deletions_per_second: Limit for deletions of files by this package, or `None`.
        materialized: The configured copies, or `None`.
    """

    task: DelegatedTask
    access: TableAccess
    engine: Engine
    run: TaskRun
    catalogs: Mapping[str, TaskCatalog]
    deletions_per_second: int | None = None
    files_in_worker: int = 10_000
    materialized: MaterializedConfig | None = None


Operation = Callable[[Work], Awaitable[TaskResult]]
