"""A mapping that forgets what was used longest ago once it holds too much."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class LRU(Generic[_Key, _Value]):
    """Keeps the most recently used values, up to a total weight.

    Args:
        capacity: Largest total weight; a single heavier value is not kept at all.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = 0
        self._entries: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def get(self, key: _Key) -> _Value | None:
        """The value, which counts as used now."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: _Key, value: _Value, weight: int = 1) -> None:
        """Keep a value, and drop the longest unused ones that no longer fit."""
        _, old = self._entries.pop(key, (None, 0))
        self._held -= old
        if weight > self._capacity:
            return
        self._entries[key] = value, weight
        self._held += weight
        while self._held > self._capacity:
            _, (_, freed) = self._entries.popitem(last=False)
            self._held -= freed

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._held = 0
