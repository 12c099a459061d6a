"""Calculates how long the waves of a purge take, by the executor's rule, on clusters of any size."""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heapreplace

from sluicegate_spark.purge.deletion import BATCH
from sluicegate_spark.purge.wave_rule import Cluster, PartQueue

PER_PREFIX = 3_500  # deletions per second that S3 allows
WAVE_SECONDS = 0.5  # for starting a wave, and for its new credentials


def ideal_seconds(files: int, cores: int, rate: float) -> float:
    """Return the time that cores need for their deletions alone."""
    return files / (rate * cores)


def seconds_by_rule(files: int, cluster: Cluster, rate: float) -> float:
    """Return the time that the waves of a purge need."""
    parts = cluster.parts(files)
    queue, left, seconds = PartQueue(parts), _sizes(files, parts), 0.0
    while queue:
        wave = queue.take(cluster.width)
        free_at = [0.0] * cluster.cores
        heapify(free_at)
        for part in wave:
            done = min(left[part.number], _files_of_task(cluster.task_seconds, rate))
            left[part.number] -= done
            heapreplace(free_at, free_at[0] + done / rate)
        queue.put_back(replace(part, after="…") for part in wave if left[part.number])
        seconds += max(free_at) + WAVE_SECONDS
    return seconds


def rate_of_task(rate: float, cores: int, prefixes: int) -> float:
    """Return the deletions per second of a Spark task if all of them share the store's limit."""
    return min(rate, PER_PREFIX * prefixes / cores)


def _sizes(files: int, parts: int) -> list[int]:
    return [files // parts + (number < files % parts) for number in range(parts)]


def _files_of_task(seconds: float, rate: float) -> int:
    """Return how many files a task deletes that begins no batch after some seconds."""
    return BATCH * -(-int(seconds * rate) // BATCH) or BATCH
