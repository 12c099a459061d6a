"""Reports progress of a task on Spark. A Spark Connect server provides none."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import TaskProgress
from sluicegate_spark.cluster import is_connect
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_SECONDS: Final = 2.0


async def watched(
    work: Work, session: TaskSession, stage: str, call: Callable[[SparkSession], _Result]
) -> _Result:
    """Run a function on Spark and report how many tasks of its jobs are done."""
    outcome: list[_Result] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_report, work, session, stage)
        try:
            outcome.append(await session.run(call))
        except Exception as error:  # a task group would wrap it in an exception group
            failures.append(error)
        group.cancel_scope.cancel()
    for failure in failures:
        raise failure
    return outcome[0]


async def _report(work: Work, session: TaskSession, stage: str) -> None:
    work.run.report(TaskProgress(stage))
    while not is_connect(session.spark):
        await anyio.sleep(_SECONDS)
        try:
            done, known = await anyio.to_thread.run_sync(
                finished_tasks, session.spark, abandon_on_cancel=True
            )
        except Exception as error:
            log.debug("Spark's progress is not available: %s", type(error).__name__)
            continue
        work.run.report(TaskProgress(f"{stage}: {done} of {known} Spark tasks so far"))


def finished_tasks(spark: SparkSession) -> tuple[int, int]:
    """Return the number of finished and of known Spark tasks in the session's jobs."""
    # PySpark's own tracker doesn't support tags.
    tracker: Any = spark.sparkContext._jsc.sc().statusTracker()
    jobs = tracker.getJobIdsForTag(spark._jsparkSession.sessionJobTag())
    stages = {stage for job in jobs for stage in _stages(tracker.getJobInfo(job))}
    found = [info.get() for info in map(tracker.getStageInfo, sorted(stages)) if info.isDefined()]
    return sum(each.numCompletedTasks() for each in found), sum(each.numTasks() for each in found)


def _stages(job: Any) -> list[int]:
    return list(job.get().stageIds()) if job.isDefined() else []
