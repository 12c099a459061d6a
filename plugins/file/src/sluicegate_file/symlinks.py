"""Finds symbolic links among many paths with few system calls."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Sequence
from itertools import islice

_FEW = 4  # names in one directory; `lstat` for each is cheaper than a scan
_LARGEST = 100_000  # entries; scanning larger directories after each change is too expensive
_MOST_REMEMBERED = 10_000  # directories
# File systems record modification times with a granularity of up to 2 s. A directory that changed
# more recently might change again without a new time.
_SETTLED = 2_000_000_000  # nanoseconds

# Inode and modification time of a directory. Its entries are unchanged while these are.
_State = tuple[int, int]
_MISSING: _State = (0, 0)


class Symlinks:
    """Finds paths below one directory that contain symbolic links.

    It caches which directories contain links until they change. Thread-safe.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._scanned: dict[str, tuple[_State | None, bool]] = {}

    def among(self, paths: Sequence[str]) -> list[str]:
        """Return paths that are symbolic links, or have one in a parent directory."""
        names: dict[str, list[str]] = {}
        for path in paths:
            parent, _, name = path.rpartition("/")
            names.setdefault(parent, []).append(name)
        states: dict[str, _State | None] = {"": _state(self._directory)}
        return [path for parent in names for path in self._in(parent, names[parent], states)]

    def _in(self, parent: str, names: Sequence[str], states: dict[str, _State | None]) -> Iterable[str]:
        prefix = f"{parent}/" if parent else ""
        state = self._state_of(parent, states)
        if state is None:
            return (prefix + name for name in names)
        directory = f"{self._directory}/{prefix}"
        if state == _MISSING or (len(names) > _FEW and not self._has_links(directory, state)):
            return ()
        return (prefix + name for name in names if _state(directory + name) is None)

    def _state_of(self, parent: str, states: dict[str, _State | None]) -> _State | None:
        """Return the state of a directory; `None` if it is a link or below one."""
        if parent not in states:
            above = self._state_of(parent.rpartition("/")[0], states)
            known = above is None or above == _MISSING
            states[parent] = above if known else _state(f"{self._directory}/{parent}")
        return states[parent]

    def _has_links(self, directory: str, state: _State) -> bool:
        """Return whether a directory contains links, or is too large to find out."""
        seen, has_links = self._scanned.get(directory, (_MISSING, False))
        if seen is None or seen == state:
            return has_links
        try:
            with os.scandir(directory) as entries:
                has_links = any(entry.is_symlink() for entry in islice(entries, _LARGEST))
                too_large = not has_links and next(entries, None) is not None
        except OSError:
            return True
        if len(self._scanned) >= _MOST_REMEMBERED:
            self._scanned.clear()
        if too_large:
            self._scanned[directory] = None, True
        elif time.time_ns() - state[1] > _SETTLED:
            self._scanned[directory] = state, has_links
        return has_links or too_large


def _state(path: str) -> _State | None:
    """Return the state of a directory or file; `None` if it is a link."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return _MISSING
    return None if stat.S_ISLNK(found.st_mode) else (found.st_ino, found.st_ctime_ns)
