"""Opens directories and files below one root. The gateway signs links to them."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

import anyio.to_thread

from sluicegate.api import (
    ConfigurationError,
    ObjectDirectory,
    PermissionDenied,
    PluginContext,
    Presigned,
    Storage,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_file.beneath import Beneath, link_refused
from sluicegate_file.config import SCHEME, FileConfig
from sluicegate_file.names import has_control_characters, is_unfinished_upload
from sluicegate_file.store import BeneathStore


@dataclass(frozen=True, slots=True)
class Root:
    """A directory that no path can leave.

    Attributes:
        name: The directory as configured, without a trailing slash; can be a symbolic link.
    """

    name: str
    path: str

    @classmethod
    def at(cls, directory: str) -> Self:
        """Return the root for a configured directory."""
        name = directory.rstrip("/")
        if not Path(name).is_dir():
            raise ConfigurationError(
                f"the directory {name} does not exist: create it, or correct the prefix of this storage"
            )
        return cls(name, os.path.realpath(name))

    def key_of(self, path: str) -> str:
        """Return an absolute path relative to the root; `""` is the root."""
        key = path[len(self.name) :].removeprefix("/").removesuffix("/")
        inside = path == self.name or path.startswith(f"{self.name}/")
        if not inside or "\0" in path or (key and not {"", ".", ".."}.isdisjoint(key.split("/"))):
            raise PermissionDenied(
                "this location is outside the directory that the storage serves", detail=path
            )
        return key


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


class FileStorage(Storage):
    """Files of this machine below the configured prefix."""

    def __init__(self, config: FileConfig, context: PluginContext) -> None:
        self._prefix = config.prefix
        self._context = context
        self._root = Root.at(config.prefix.removeprefix(SCHEME))
        self._symlinks = Symlinks(self._root.path)
        self._files = Beneath(self._root.path)
        self._store = BeneathStore(self._files)

    @property
    def prefix(self) -> str:
        """Return the location prefix of this instance, with a trailing slash."""
        return self._prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return links that the gateway itself serves. Each is checked again when it is opened."""
        if not all(location.startswith(self._prefix) for location in locations):
            raise PermissionDenied(
                "a file of the table is outside the directory that the storage serves"
            )
        if any(map(is_unfinished_upload, locations)):
            raise UnsupportedOperation(
                "the table has a file whose name ends with '#' and digits, which local storage "
                "cannot read; ask the table's owner to rewrite the file with another name"
            )
        start = len(self._prefix)
        paths = [location[start:] for location in locations]
        links = await anyio.to_thread.run_sync(self._symlinks.among, paths)
        if links:
            raise link_refused(links[0])
        return self._context.links.sign(paths, expires_in)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory or a file. The store checks each file again when it opens it."""
        key = self._root.key_of(location.removeprefix(SCHEME))
        await anyio.to_thread.run_sync(self._check, key)
        return ObjectDirectory(self._store, key)

    def _check(self, key: str) -> None:
        """Report now what reading would refuse. What can't be examined is reported when it's read."""
        is_file = False
        with suppress(OSError, ValueError):
            is_file = stat.S_ISREG(self._files.mode(key))
        if has_control_characters(key) or (is_file and is_unfinished_upload(key)):
            raise UnsupportedOperation(
                "local storage cannot read a file whose name contains control characters, or ends "
                "with '#' and digits: rename the file",
                detail=key,
            )
