"""Reads the objects of a table's log: the one place that calls its store and maps its errors."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import obstore
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from sluicegate.clock import ms_of
from sluicegate.errors import ObjectMissing, Unavailable
from sluicegate.nouns import ObjectDirectory
from sluicegate.tables.delta.names import LogFile, log_file, version_prefix
from sluicegate.tables.store_errors import store_errors
from sluicegate.telemetry import span

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ObjectStore

_LOG = "_delta_log"
_LIST_CHUNK = 100


class LogStore:
    """The `_delta_log` of one table, opened for reading."""

    def __init__(self, directory: ObjectDirectory) -> None:
        self._store = directory.store
        self._prefix = directory.key(_LOG)
        self._ordered = _lists_in_order(directory.store)

    async def files(self, since: int | None = None) -> list[LogFile]:
        """The log's files from a version on, in no order, by one listing; none where there is no log.

        Raises:
            StorageError: The store cannot be listed.
        """
        offset = None if since is None else self._key(version_prefix(since))
        found: list[LogFile] = []
        with span("store.list"), suppress(ObjectMissing), store_errors(self._prefix):
            pages = obstore.list(self._store, self._prefix, offset=offset, chunk_size=_LIST_CHUNK)
            async for page in pages:
                for item in page:
                    name = item["path"].removeprefix(f"{self._prefix}/")
                    if self._ordered and name.startswith("_"):
                        return found  # `_sidecars/…` and `_staged_commits/…` follow, maybe many
                    modified = ms_of(item["last_modified"])
                    file = log_file(name, item["size"], modified, item["e_tag"])
                    if file is not None:
                        found.append(file)
        return found

    async def read(self, name: str, limit: int | None = None) -> memoryview:
        """A whole object, or at most its first `limit` bytes.

        Raises:
            ObjectMissing: There is no such object.
            StorageError: The store does not answer or refuses.
        """
        with span("store.get"), store_errors(name):
            options: GetOptions | None = None if limit is None else {"range": (0, limit)}
            result = await obstore.get_async(self._store, self._key(name), options=options)
            return memoryview(await result.bytes_async())

    def open(self, name: str, size: int) -> _RangedObject:
        """An object as a blocking, seekable file, for worker threads."""
        return _RangedObject(self._store, self._key(name), size)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"


class _RangedObject(io.RawIOBase):
    """An object as a blocking file: each read is one range request."""

    def __init__(self, store: ObjectStore, key: str, size: int) -> None:
        super().__init__()
        self._store, self._key, self._size, self._position = store, key, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._position + size)
        if end <= self._position:
            return b""
        with span("store.get"), store_errors(self._key):
            data = obstore.get_range(self._store, self._key, start=self._position, end=end)
        self._position = end
        return bytes(data)


@contextmanager
def cleaned_up_meanwhile() -> Iterator[None]:
    """A file that was listed and is gone now: the next attempt will list what is there."""
    try:
        yield
    except ObjectMissing as error:
        message = "the table's log changed while it was read; try again"
        raise Unavailable(message, detail=error.detail) from None


def _lists_in_order(store: ObjectStore) -> bool:
    """Whether listings are sorted by name: directory buckets of S3 and local folders are not."""
    if isinstance(store, S3Store):
        return not store.config.get("bucket", "").endswith("--x-s3")
    return isinstance(store, AzureStore | GCSStore | MemoryStore)
