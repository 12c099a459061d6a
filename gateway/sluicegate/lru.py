"""A mapping that forgets what was used longest ago once it holds too much."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class LRU(Generic[_Key, _Value]):
    """Keeps the most recently used values, up to a total weight.

    Args:
        capacity: Largest total weight; a single heavier value is not kept at all.
        weigh: Weight of a value, by default 1; asked once, when it is put.
    """

    def __init__(self, capacity: int, weigh: Callable[[_Value], int] = lambda _: 1) -> None:
        self._capacity = capacity
        self._weigh = weigh
        self._weight = 0
        self._entries: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def weight(self) -> int:
        """Total weight of the values that are kept; never more than the capacity."""
        return self._weight

    def get(self, key: _Key) -> _Value | None:
        """The value, which counts as used now."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: _Key, value: _Value) -> None:
        """Keep a value, and drop the longest unused ones that no longer fit."""
        self._drop(key)
        weight = self._weigh(value)
        if weight > self._capacity:
            return
        self._entries[key] = value, weight
        self._weight += weight
        while self._weight > self._capacity:
            self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._weight = 0

    def _drop(self, key: _Key) -> None:
        _, weight = self._entries.pop(key, (None, 0))
        self._weight -= weight
