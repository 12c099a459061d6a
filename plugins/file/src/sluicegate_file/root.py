"""Confines paths to one directory, after all symbolic links are resolved."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sluicegate.api import ConfigurationError, PermissionDenied, StorageError, UnsupportedOperation

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# object_store reserves these names for unfinished uploads, and neither lists nor reads them.
_UPLOAD = re.compile(r"#[0-9]+$")
_MARKS = ("_delta_log", "metadata")  # directories that mark a table


@dataclass(frozen=True, slots=True)
class Root:
    """A directory that no path can leave.

    Attributes:
        name: The directory as configured, without a trailing slash; can be a symbolic link.
        path: Its real path.
    """

    name: str
    path: str

    @classmethod
    def at(cls, directory: str) -> Self:
        """Return the root for a configured directory.

        Raises:
            ConfigurationError: The directory doesn't exist.
        """
        name = directory.rstrip("/")
        if not Path(name).is_dir():
            raise ConfigurationError(
                f"the directory {name} does not exist: create it, or correct the prefix of this storage"
            )
        return cls(name, os.path.realpath(name))

    def key_of(self, path: str) -> str:
        """Return the real location of an absolute path, relative to the root; `""` is the root.

        A path that doesn't exist also has a key. Reading it reports that it is missing.

        Raises:
            PermissionDenied: The path is not plain, leads out of the root, or to something other than
                a file or directory; or its Delta log contains such a link.
            StorageError: The directory of the log can't be read.
            UnsupportedOperation: The store can't address the name.
        """
        if not self._is_plain(path):
            raise _outside(path)
        real = os.path.realpath(path)
        if not self._holds(real):
            raise _outside(path)
        mode = _mode(real)
        if not (mode is None or stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            raise PermissionDenied("only files and directories can be shared", detail=path)
        if _CONTROL.search(real) or (mode and stat.S_ISREG(mode) and _UPLOAD.search(real)):
            raise UnsupportedOperation(
                "local storage cannot read a file whose name contains control characters, or ends "
                "with '#' and digits: rename the file",
                detail=path,
            )
        if mode and stat.S_ISDIR(mode):
            self._check_log(real)
        elif not self._stays_in_table(path, real):
            raise PermissionDenied(
                "the table's directory contains a symbolic link to a location outside of it, which "
                "is not served; ask the table's owner to remove the link",
                detail=path,
            )
        return real[len(self.path) :].lstrip("/")

    def _is_plain(self, path: str) -> bool:
        inside = path == self.name or path.startswith(f"{self.name}/")
        names = path[len(self.name) :].removeprefix("/").removesuffix("/").split("/")
        return inside and "\0" not in path and (names == [""] or not {"", ".", ".."} & set(names))

    def _holds(self, real: str) -> bool:
        return _is_in(real, self.path)

    def _stays_in_table(self, path: str, real: str) -> bool:
        """Return whether a file is in the table whose directory names it, with links resolved.

        The table is the topmost directory on the path that looks like one, because its writer can
        create others below it. Outside tables, no link is followed.
        """
        below = path[len(self.name) :].strip("/")
        if real == f"{self.path}/{below}":
            return True
        directory = self.name
        for name in below.split("/")[:-1]:
            directory = f"{directory}/{name}"
            if any(Path(directory, mark).is_dir() for mark in _MARKS):
                return real.startswith(f"{os.path.realpath(directory)}/")
        return False

    def _check_log(self, table: str) -> None:
        """Check a log together with its table.

        The core reads files of the log by key, not through `key_of`.
        """
        directory = f"{table}/_delta_log"
        real = os.path.realpath(directory)
        try:
            if not _is_in(real, table) or self._has_stray(real, table):
                raise _outside(directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(
                "the table's log cannot be read now; try again later", detail=str(error)
            ) from error

    def _has_stray(self, directory: str, table: str) -> bool:
        """Return whether a directory contains anything but files, or links that leave the table.

        Links to directories also count.
        """
        with os.scandir(directory) as entries:
            return any(self._is_stray(entry, table) for entry in entries)

    def _is_stray(self, entry: os.DirEntry[str], table: str) -> bool:
        if entry.is_symlink():
            return entry.is_dir() or not _is_in(os.path.realpath(entry.path), table)
        return self._has_stray(entry.path, table) if entry.is_dir() else not entry.is_file()


def is_addressable(path: str) -> bool:
    """Return whether the store can read a file with this name."""
    return not ("#" in path and _UPLOAD.search(path))


def _is_in(real: str, directory: str) -> bool:
    return real == directory or real.startswith(f"{directory}/")


def _mode(real: str) -> int | None:
    try:
        return os.lstat(real).st_mode
    except OSError:
        return None


def _outside(path: str) -> PermissionDenied:
    return PermissionDenied(
        "this location is outside the directory that the storage serves", detail=path
    )
