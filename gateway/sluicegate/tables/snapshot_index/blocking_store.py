"""Calls a store from threads. Credentials of storages are coroutines, which need the event loop."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.from_thread

from sluicegate._util.clock import ms_of

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore


# Opening a pipe would wait for a writer.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class TooLarge(Exception):
    """An object is larger than expected."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object in a listing; `modified` is in epoch milliseconds."""

    key: str
    modified: int


@dataclass(frozen=True, slots=True)
class BlockingStore:
    """Reads and writes objects. All methods block, and raise what obstore raises.

    Attributes:
        on_loop: Whether requests are sent by the event loop. All methods must then be called in a
            thread of anyio. Stores without credentials, such as local folders, do not need this.
    """

    store: ObjectStore
    on_loop: bool = False
    root: Path | None = None

    def get(self, key: str, most: int) -> bytes:
        """An object."""
        if self.root is not None:
            return _content(self.root / key, most)
        if self.on_loop:
            return anyio.from_thread.run(self._get, key, most)
        result = self.store.get(key)
        if result.meta["size"] > most:
            raise TooLarge
        return bytes(result.bytes())

    def put(self, key: str, content: bytes) -> None:
        """Write or replace an object."""
        if self.on_loop:
            anyio.from_thread.run(self.store.put_async, key, content)
        else:
            self.store.put(key, content)

    def objects(self, prefix: str) -> list[StoredObject]:
        """All objects below a prefix."""
        if self.on_loop:
            return anyio.from_thread.run(self._objects, prefix)
        return [_stored(item) for page in self.store.list(prefix or None) for item in page]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        if self.on_loop:
            anyio.from_thread.run(self.store.delete_async, keys)
        else:
            self.store.delete(keys)

    async def _get(self, key: str, most: int) -> bytes:
        result = await self.store.get_async(key)
        if result.meta["size"] > most:
            raise TooLarge
        return bytes(await result.bytes_async())

    async def _objects(self, prefix: str) -> list[StoredObject]:
        pages = self.store.list(prefix or None)
        return [_stored(item) async for page in pages for item in page]


def _content(path: Path, most: int) -> bytes:
    with os.fdopen(os.open(path, _FILE), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if found.st_size > most:
            raise TooLarge
        return file.read(most)


def _stored(item: ObjectMeta) -> StoredObject:
    return StoredObject(item["path"], ms_of(item["last_modified"]))
