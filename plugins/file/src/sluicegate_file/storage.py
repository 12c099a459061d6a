"""Opens directories and files below one root. The gateway signs links to them."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread
from obstore.store import LocalStore

from sluicegate.api import (
    ObjectDirectory,
    PermissionDenied,
    PluginContext,
    Presigned,
    Storage,
    TemporaryCredentials,
    UnsupportedOperation,
)
from sluicegate_file.config import SCHEME, FileConfig
from sluicegate_file.root import Root, is_addressable
from sluicegate_file.symlinks import Symlinks


class FileStorage(Storage):
    """Files of this machine below the configured prefix.

    Raises:
        ConfigurationError: The directory of the prefix doesn't exist.
    """

    def __init__(self, config: FileConfig, context: PluginContext) -> None:
        self._prefix = config.prefix
        self._context = context
        self._root = Root.at(config.prefix.removeprefix(SCHEME))
        self._symlinks = Symlinks(self._root.path)
        self._store = LocalStore(self._root.path)

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
        """Return links that the gateway itself serves. Each is checked again when it is opened.

        Raises:
            PermissionDenied: A location, or a symbolic link on its path, leaves the root or its
                table.
            UnsupportedOperation: The store can't address the name.
        """
        if not all(location.startswith(self._prefix) for location in locations):
            raise PermissionDenied(
                "a file of the table is outside the directory that the storage serves"
            )
        if not all(map(is_addressable, locations)):
            raise UnsupportedOperation(
                "the table has a file whose name ends with '#' and digits, which local storage "
                "cannot read; ask the table's owner to rewrite the file with another name"
            )
        start = len(self._prefix)
        paths = [location[start:] for location in locations]
        await anyio.to_thread.run_sync(self._check_symlinks, paths)
        return self._context.links.sign(paths, expires_in)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory or a file. The key prefix is the target of all symbolic links.

        Raises:
            PermissionDenied: The location, or a link on its path or in its Delta log, leaves the
                root.
            UnsupportedOperation: The store can't address the name.
        """
        key = await anyio.to_thread.run_sync(self._root.key_of, location.removeprefix(SCHEME))
        return ObjectDirectory(self._store, key)

    def _check_symlinks(self, paths: Sequence[str]) -> None:
        for path in self._symlinks.among(paths):
            self._root.key_of(f"{self._root.name}/{path}")
