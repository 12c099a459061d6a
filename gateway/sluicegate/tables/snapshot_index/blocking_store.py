"""Calls a store from threads. Credentials of storages are coroutines, which need the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.from_thread
import obstore

from sluicegate._util.clock import ms_of

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore


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
        store: The store.
        on_loop: Whether requests are sent by the event loop. All methods must then be called in a
            thread of anyio. Stores without credentials, such as local folders, do not need this.
    """

    store: ObjectStore
    on_loop: bool = False

    def get(self, key: str, most: int) -> bytes:
        """An object.

        Raises:
            FileNotFoundError: It does not exist.
            TooLarge: It has more than `most` bytes. Nothing was read.
        """
        if self.on_loop:
            return anyio.from_thread.run(self._get, key, most)
        result = obstore.get(self.store, key)
        if result.meta["size"] > most:
            raise TooLarge
        return bytes(result.bytes())

    def put(self, key: str, content: bytes) -> None:
        """Write or replace an object."""
        if self.on_loop:
            anyio.from_thread.run(obstore.put_async, self.store, key, content)
        else:
            obstore.put(self.store, key, content)

    def objects(self, prefix: str) -> list[StoredObject]:
        """All objects below a prefix."""
        if self.on_loop:
            return anyio.from_thread.run(self._objects, prefix)
        return [_stored(item) for page in obstore.list(self.store, prefix or None) for item in page]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        if self.on_loop:
            anyio.from_thread.run(obstore.delete_async, self.store, keys)
        else:
            obstore.delete(self.store, keys)

    async def _get(self, key: str, most: int) -> bytes:
        result = await obstore.get_async(self.store, key)
        if result.meta["size"] > most:
            raise TooLarge
        return bytes(await result.bytes_async())

    async def _objects(self, prefix: str) -> list[StoredObject]:
        pages = obstore.list(self.store, prefix or None)
        return [_stored(item) async for page in pages for item in page]


def _stored(item: ObjectMeta) -> StoredObject:
    return StoredObject(item["path"], ms_of(item["last_modified"]))
