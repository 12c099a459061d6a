"""Token buckets: how many requests a sender can send, and when the next one."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sluicegate._util.lru import LRU

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Rate:
    """A request rate."""

    per_minute: int
    burst: int

    @property
    def per_second(self) -> float:
        """Requests in a second, in the long run."""
        return self.per_minute / 60

    @property
    def window(self) -> int:
        """Seconds in which an empty bucket is filled, rounded up."""
        return math.ceil(self.burst / self.per_second)


@dataclass(slots=True)
class _Level:
    tokens: float
    at: float


class TokenBuckets(Generic[_Key]):
    """The buckets of many senders. Each request takes one token; the tokens come back with time.

    Only the senders that were seen last have a bucket. A sender without one has all tokens.
    """

    def __init__(self, capacity: int, clock: Callable[[], float]) -> None:
        self._levels: LRU[_Key, _Level] = LRU(capacity)
        self._clock = clock

    def __len__(self) -> int:
        """The number of buckets in memory."""
        return len(self._levels)

    def take(self, key: _Key, rate: Rate) -> float:
        """Take a token.

        Returns:
            0 if there was one, otherwise the seconds until there is one.
        """
        level = self._filled(key, rate)
        if level.tokens < 1:
            return (1 - level.tokens) / rate.per_second
        level.tokens -= 1
        return 0.0

    def left(self, key: _Key, rate: Rate) -> tuple[int, int]:
        """The requests that can be sent now, and the seconds until the bucket is full, rounded up."""
        level = self._filled(key, rate)
        return int(level.tokens), math.ceil((rate.burst - level.tokens) / rate.per_second)

    def _filled(self, key: _Key, rate: Rate) -> _Level:
        now = self._clock()
        level = self._levels.get(key)
        if level is None:
            level = _Level(float(rate.burst), now)
            self._levels.put(key, level)
            return level
        if now > level.at:
            level.tokens += (now - level.at) * rate.per_second
            level.at = now
        level.tokens = min(level.tokens, rate.burst)  # also if the limit was lowered
        return level
