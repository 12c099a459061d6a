"""Divides sorted keys into ranges that Spark tasks list in parallel.

A range is divided at the first character in which its keys differ. This finds partitions, hash
prefixes, and numbers in the names of files alike, with a request for each part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

# It sorts after every other character, also in UTF-8. No key of a range is equal to a limit that ends
# with it, nor is a directory: some stores skip a directory if a listing starts at its name.
_LAST = "\U0010ffff"
_MOST_PARTS = 64


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Some of the keys of a directory.

    Attributes:
        after: They follow this key; empty if there is no limit.
        until: This key or one before it is the last of them; empty if there is no limit.
    """

    after: str = ""
    until: str = ""
    divisible: bool = True

    def ends_before(self, key: str) -> bool:
        """Return whether a key follows all keys of this range."""
        return self.until != "" and key > self.until


FirstAfter = Callable[[str], str | None]
"""Returns the first existing key after another one; `None` if there is none."""


def divided(keys: KeyRange, first_after: FirstAfter) -> list[KeyRange]:
    """Return ranges that together contain the same existing keys.

    Some stores sort keys by directory, so that `a/b` is before `a-b`. Where this makes a difference,
    the keys are not divided.
    """

    def within(offset: str) -> str | None:
        found = first_after(offset)
        return None if found is None or keys.ends_before(found) else found

    first = within(keys.after)
    if first is None:
        return []
    length = _common(first, within)
    parts: list[KeyRange] = []
    after, key = keys.after, first
    while len(parts) < _MOST_PARTS - 1:
        limit = key[: length + 1] + _LAST
        following = within(limit)
        if following is None:
            break
        if following <= limit:
            return [replace(keys, divisible=False)]
        parts.append(KeyRange(after, limit))
        after, key = limit, following
    return [*parts, KeyRange(after, keys.until)]


def _common(first: str, within: FirstAfter) -> int:
    """Return how many characters all keys of a range have in common with the first one."""
    least, most = 0, len(first)
    while least < most:
        middle = (least + most + 1) // 2
        if within(first[:middle] + _LAST) is None:
            least = middle
        else:
            most = middle - 1
    return least
