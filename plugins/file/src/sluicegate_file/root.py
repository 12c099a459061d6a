"""The directory of a storage, and the keys of the paths below it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sluicegate.api import ConfigurationError, PermissionDenied


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
