"""A mapping that evicts the least recently used values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import Generic, ParamSpec, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_Texts = ParamSpec("_Texts")

_CHARACTERS = 4 * 1024 * 1024


class LRU(Generic[_Key, _Value]):
    """Stores the most recently used values, up to a total weight.

    Args:
        capacity: Maximum total weight. A value that is heavier than this is never stored.
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
        """Total weight of the stored values, which never exceeds the capacity."""
        return self._weight

    def get(self, key: _Key) -> _Value | None:
        """Return the value, and mark it as the most recently used one."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: _Key, value: _Value) -> None:
        """Store a value, and evict the least recently used values that no longer fit."""
        self._drop(key)
        weight = self._weigh(value)
        if weight > self._capacity:
            return
        self._entries[key] = value, weight
        self._weight += weight
        while self._weight > self._capacity:
            self._drop(next(iter(self._entries)))

    def pop(self, key: _Key) -> _Value | None:
        """Remove a value and return it."""
        value = self.get(key)
        self._drop(key)
        return value

    def discard(self, unwanted: Callable[[_Value], bool]) -> None:
        """Remove the values for which a condition holds."""
        for key in [key for key, (value, _) in self._entries.items() if unwanted(value)]:
            self._drop(key)

    def clear(self) -> None:
        """Remove all values."""
        self._entries.clear()
        self._weight = 0

    def _drop(self, key: _Key) -> None:
        _, weight = self._entries.pop(key, (None, 0))
        self._weight -= weight


def cached_by_text(function: Callable[_Texts, _Value]) -> Callable[_Texts, _Value]:
    """Cache the results of a function of texts, up to four million characters of arguments.

    A maximum number of results would not bound its memory: writers of tables can write schemas of many
    megabytes, and their parsed form is ten times as large. Arguments are texts, or tuples of texts.
    """
    results: LRU[Hashable, tuple[_Value, int]] = LRU(_CHARACTERS, weigh=lambda found: found[1])
    lock = Lock()

    @wraps(function)
    def cached(*arguments: _Texts.args, **options: _Texts.kwargs) -> _Value:
        key = (arguments, *options.items())
        with lock:
            found = results.get(key)
        if found is None:
            found = function(*arguments, **options), sum(map(_characters, arguments)) + 1
            with lock:
                results.put(key, found)
        return found[0]

    return cached


def _characters(argument: object) -> int:
    if isinstance(argument, str):
        return len(argument)
    return sum(map(_characters, argument)) if isinstance(argument, tuple) else 0
