"""Scheduler pools, between which Spark divides the cluster, so that no task holds up the others.

Source: Spark documentation, "Job Scheduling", "Scheduling Within an Application".
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAIR = {"spark.scheduler.mode": "FAIR"}
"""Settings with which Spark divides cores between pools."""

_POOL = "spark.scheduler.pool"


class Pools:
    """Gives each running task a pool. Spark keeps every pool that it has seen, so they are reused."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    @contextmanager
    def pool(self) -> Iterator[str]:
        """Take a pool until the block ends."""
        with self._lock:
            number = next(each for each in range(len(self._taken) + 1) if each not in self._taken)
            self._taken.add(number)
        try:
            yield f"sluicegate-{number}"
        finally:
            with self._lock:
                self._taken.remove(number)


@contextmanager
def in_pool(spark: SparkSession, pool: str | None) -> Iterator[None]:
    """Start the jobs of this thread in a pool until the block ends; `None` is the default pool."""
    if pool is None:
        yield
        return
    context: Any = spark.sparkContext
    context.setLocalProperty(_POOL, pool)
    try:
        yield
    finally:
        context.setLocalProperty(_POOL, None)
