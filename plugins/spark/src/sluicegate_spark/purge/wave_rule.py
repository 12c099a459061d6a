"""Decides how many parts a list of files has, and which of them each wave processes.

This module doesn't use Spark, so that the benchmark and the tests can calculate a purge of any size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from sluicegate_spark.purge.deletion import BATCH

_TASK_SECONDS = 8.0
# With Spark Connect, each Spark task reads its part from the start.
_LONG_TASK_SECONDS = 15.0
# Spark tasks of a wave for each core, and the least parts of a list: cores that end early begin others.
_ROUNDS = 4
_FILES_OF_PART = 25_000
# Spark's driver keeps some kilobytes for each part: sampled paths, a range, and the place of its block.
_MOST_PARTS = 10_000
# With fewer deletions per second, a Spark task is idle most of the time.
_LEAST_RATE = 250


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the number of parts and the width of waves depend on.

    Attributes:
        deletions_per_second: Limit for all Spark tasks of a purge together, or `None`.
    """

    cores: int
    deletions_per_second: int | None = None
    prunes: bool = True

    def parts(self, files: int) -> int:
        """Return into how many parts files are divided.

        A part has a batch of files or more, and there are several parts for each core.
        """
        least = _ROUNDS * self.cores
        most = max(_MOST_PARTS, least) if self.prunes else least
        wanted = max(least, -(-files // _FILES_OF_PART))
        return max(1, min(wanted, most, -(-files // BATCH)))

    @property
    def width(self) -> int:
        """Return the number of parts in a wave.

        It exceeds the number of cores, so that a cluster with dynamic allocation adds executors.
        """
        limited = self._limited_tasks if self.prunes else None
        return limited or _ROUNDS * self.cores

    @property
    def task_seconds(self) -> float:
        """Return after which time a Spark task begins no batch of files."""
        return _TASK_SECONDS if self.prunes else _LONG_TASK_SECONDS

    @property
    def deletions_per_task(self) -> float | None:
        """Return the number of deletions per second for each Spark task, or `None`."""
        if self.deletions_per_second is None:
            return None
        at_once = self._limited_tasks if self.prunes else self.cores
        return self.deletions_per_second / (at_once or 1)

    @property
    def _limited_tasks(self) -> int | None:
        """Return how many Spark tasks suffice to delete as many files as the limit allows."""
        if self.deletions_per_second is None:
            return None
        return max(1, min(self.cores, self.deletions_per_second // _LEAST_RATE))


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is not finished.

    Attributes:
        after: The last path that is processed; empty if there is none.
        stalled: Whether nothing was processed in the last wave, because its credentials had expired.
    """

    number: int
    after: str = ""
    stalled: bool = False


class PartQueue:
    """The unfinished parts of a list of files. Its memory doesn't grow with the number of files."""

    def __init__(self, parts: int) -> None:
        self._begun: deque[Part] = deque()
        self._new = iter(range(parts))
        self._left = parts

    def __bool__(self) -> bool:
        """Return whether parts are left."""
        return self._left > 0

    def take(self, width: int) -> list[Part]:
        """Remove parts for a wave; those that earlier waves began come first."""
        taken = [self._begun.popleft() for _ in range(min(width, len(self._begun)))]
        taken += map(Part, islice(self._new, width - len(taken)))
        self._left -= len(taken)
        return taken

    def put_back(self, parts: Iterable[Part]) -> None:
        """Return parts that a wave did not finish."""
        for part in parts:
            self._begun.append(part)
            self._left += 1
