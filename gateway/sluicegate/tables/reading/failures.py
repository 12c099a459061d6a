"""Caches read failures of tables for a while, so that retries do not repeat their cost."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Awaitable, Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from sluicegate._util.lru import LRU
from sluicegate.api.errors import TableUnreadable


def release_locals(error: BaseException) -> None:
    """Clear the local variables in the tracebacks of an error and its causes.

    An error that a task raised is part of a reference cycle. Without this function, all data that a
    failed read decoded stays in memory until the garbage collector finds the cycle.
    """
    for each in _causes(error):
        traceback.clear_frames(each.__traceback__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    found, left = set[int](), [error]
    while left:
        each = left.pop()
        if id(each) in found:
            continue
        found.add(id(each))
        yield each
        members = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        left += [other for other in (each.__cause__, each.__context__, *members) if other is not None]


_T = TypeVar("_T")

_KEPT = 10_000  # entries
_TIMES = 10.0  # how long a failure is cached, as a multiple of the time that it took
_LONGEST = 300.0  # seconds
_WORTH = 0.2  # seconds; after a faster failure, the next attempt can follow at once


@dataclass(frozen=True, slots=True)
class _Failure:
    """The essential parts of an error: its traceback would keep all decoded data in memory."""

    kind: type[TableUnreadable]
    message: str
    detail: str | None
    until: float


class Failures:
    """Caches the reasons why tables could not be read, for a time in proportion to the time it took.

    A failing table therefore takes at most 10 % of a core's time. If an attempt is cheap, a table that
    was just repaired can be read at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: LRU[Hashable, _Failure] = LRU(_KEPT)

    async def run(self, key: Hashable, read: Callable[[], Awaitable[_T]]) -> _T:
        """Read a table, or fail with the error of a recent attempt."""
        self._check(key)
        began = self._clock()
        try:
            return await read()
        except TableUnreadable as error:
            took = self._clock() - began
            if took < _WORTH:
                raise
            until = self._clock() + min(_TIMES * took, _LONGEST)
            self._kept.put(key, _Failure(type(error), error.message, error.detail, until))
            raise

    def _check(self, key: Hashable) -> None:
        failure = self._kept.get(key)
        if failure is None:
            return
        left = failure.until - self._clock()
        if left > 0:
            raise failure.kind(
                f"{failure.message} (cached; the next attempt is in {math.ceil(left)} s)",
                detail=failure.detail,
            )
