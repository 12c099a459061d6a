"""Opens directories and files below one root, and has links to them signed by the gateway."""

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


class FileStorage(Storage):
    """Files of this machine below the configured prefix.

    Raises:
        ConfigurationError: The directory of the prefix does not exist.
    """

    def __init__(self, config: FileConfig, context: PluginContext) -> None:
        self._prefix = config.prefix
        self._context = context
        self._root = Root.at(config.prefix.removeprefix(SCHEME))
        self._store = LocalStore(self._root.path)

    @property
    def prefix(self) -> str:
        """The location prefix that this instance serves, ending with a slash."""
        return self._prefix

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Links that the gateway serves itself; what they lead to is checked when they are opened."""
        if not all(location.startswith(self._prefix) for location in locations):
            raise PermissionDenied("a file of the table lies outside of the storage that may be shared")
        if not all(map(is_addressable, locations)):
            raise UnsupportedOperation(
                "the table has a file whose name ends with '#' and digits, which cannot be read from "
                "local storage: its owner should write it again under another name"
            )
        start = len(self._prefix)
        return self._context.links.sign([location[start:] for location in locations], expires_in)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory or a file; the key prefix is where all symbolic links lead.

        Raises:
            PermissionDenied: The location, or a link on its way or in its Delta log, leaves the root.
            UnsupportedOperation: The name is one that the store cannot address.
        """
        key = await anyio.to_thread.run_sync(self._root.key_of, location.removeprefix(SCHEME))
        return ObjectDirectory(self._store, key)
