"""Opens directories and files below one root. The gateway signs links to them."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from contextlib import suppress

import anyio.to_thread

from sluicegate.api import (
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
from sluicegate_file.root import Root
from sluicegate_file.store import BeneathStore
from sluicegate_file.symlinks import Symlinks


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
