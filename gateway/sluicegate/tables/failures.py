"""Tables that could not be read, remembered for a while: retries do not repeat what that cost."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from sluicegate.errors import TableUnreadable
from sluicegate.lru import LRU

_T = TypeVar("_T")

_KEPT = 10_000  # failures
_TIMES = 10.0  # how much longer than it took a failure is remembered
_LONGEST = 300.0  # seconds
_WORTH = 0.2  # seconds; what failed faster may be tried again at once


@dataclass(frozen=True, slots=True)
class _Failure:
    """What is left of an error: its traceback would hold all that had been decoded."""

    kind: type[TableUnreadable]
    message: str
    detail: str | None
    until: float


class Failures:
    """Remembers why tables could not be read, in proportion to what finding out took.

    So a table that fails costs the gateway a tenth of a core's time at the most, and one whose writer
    has just mended it is read at once where trying is cheap.

    Args:
        clock: Seconds since any moment.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: LRU[Hashable, _Failure] = LRU(_KEPT)

    async def run(self, key: Hashable, read: Callable[[], Awaitable[_T]]) -> _T:
        """Read a table, or fail as the last time, where that is not long ago.

        Args:
            key: The table, and what of it is read.
            read: Reads it.

        Raises:
            TableUnreadable: It cannot be read; the message says when it is tried again.
        """
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
                f"{failure.message} (found a moment ago; it is tried again in {math.ceil(left)} s)",
                detail=failure.detail,
            )
