"""Reads the objects of a table's log. Only this module calls its store and maps its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.from_thread
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from sluicegate._util.clock import ms_of
from sluicegate._util.ranged_file import RangedFile
from sluicegate.api.budget import Budget
from sluicegate.api.errors import ObjectMissing, Unavailable
from sluicegate.api.models import ObjectDirectory
from sluicegate.tables.delta.log_files.names import LogFile, log_file, version_prefix
from sluicegate.tables.reading.store_errors import store_errors
from sluicegate.telemetry import span

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult
    from obstore.store import ObjectStore
    from typing_extensions import Buffer

_LOG = "_delta_log"
_LIST_CHUNK = 100
_ENTRY_BYTES = 400  # memory of one listed name
_DECODING = 2  # threads; more would take time and memory from other requests


class LogStore:
    """The `_delta_log` of one table, opened for reading. All fetched bytes count in its budget."""

    def __init__(self, directory: ObjectDirectory) -> None:
        self.budget = directory.budget
        self.decoding = anyio.CapacityLimiter(_DECODING)
        self._directory = directory
        self._store = directory.store
        self._prefix = directory.key(_LOG)
        self._ordered = _lists_in_order(directory.store)

    def renewed(self) -> LogStore:
        """The same log with an unused budget. The caller must close it."""
        return LogStore(replace(self._directory, budget=self.budget.renewed()))

    async def files(self, since: int | None = None) -> list[LogFile]:
        """The log's files from a version on, unordered, from one listing. Empty if there is no log."""
        offset = None if since is None else self._key(version_prefix(since))
        found: list[LogFile] = []
        with span("store.list"), suppress(ObjectMissing), store_errors(self._prefix):
            pages = self._store.list(self._prefix, offset=offset, chunk_size=_LIST_CHUNK)
            async for page in pages:
                cost = _ENTRY_BYTES * len(page)
                self.budget.take("the list of the Delta log's files", bytes=cost, rows=len(page))
                for item in page:
                    name = item["path"].removeprefix(f"{self._prefix}/")
                    if self._ordered and name.startswith("_"):
                        return found  # `_sidecars/…` and `_staged_commits/…` follow, which can be many
                    modified = ms_of(item["last_modified"])
                    file = log_file(name, item["size"], modified, item["e_tag"])
                    if file is not None:
                        found.append(file)
        return found

    async def read(self, name: str, limit: int | None = None) -> memoryview:
        """An entire object, or at most its first `limit` bytes."""
        with span("store.get"), store_errors(name):
            options: GetOptions | None = None if limit is None else {"range": (0, limit)}
            result = await self._store.get_async(self._key(name), options=options)
            return await self._fetched(name, result)

    async def read_small(self, name: str, most: int) -> memoryview | None:
        """An entire object, or `None` if it is larger than `most` bytes; raises as `read` does."""
        with span("store.get"), store_errors(name):
            result = await self._store.get_async(self._key(name))
            return None if result.meta["size"] > most else await self._fetched(name, result)

    async def _fetched(self, name: str, result: GetResult) -> memoryview:
        start, end = result.range
        await self.budget.admit(end - start)
        self.budget.take(f"the Delta log's {name}", bytes=end - start)
        return memoryview(await result.bytes_async())

    async def size(self, name: str) -> int:
        """The size of an object in bytes; raises as `read` does."""
        with span("store.head"), store_errors(name):
            return int((await self._store.head_async(self._key(name)))["size"])

    def open(self, name: str, size: int, *, on_loop: bool = True) -> _RangedObject:
        """An object as a blocking, seekable file."""
        key, what = self._key(name), f"the Delta log's {name}"
        return _RangedObject(self._store, key, size, what, self.budget, on_loop=on_loop)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"


class _RangedObject(RangedFile):
    """An object as a blocking file: each read is one range request, and counts in the budget."""

    def __init__(
        self,
        store: ObjectStore,
        key: str,
        size: int,
        what: str,
        budget: Budget,
        *,
        on_loop: bool,
    ) -> None:
        super().__init__(size)
        self._store, self._key = store, key
        self._what, self._budget, self._on_loop = what, budget, on_loop

    def fetch(self, start: int, end: int) -> Buffer:
        self._budget.take(self._what, bytes=end - start)
        with span("store.get"), store_errors(self._key):
            return self._get_range(start, end)

    def _get_range(self, start: int, end: int) -> Buffer:
        if not self._on_loop:
            return self._store.get_range(self._key, start=start, end=end)

        async def get_range() -> Buffer:
            return await self._store.get_range_async(self._key, start=start, end=end)

        return anyio.from_thread.run(get_range)


@contextmanager
def cleaned_up_meanwhile() -> Iterator[None]:
    """Convert the absence of a listed file into an error that can be retried: a new listing differs."""
    try:
        yield
    except ObjectMissing as error:
        message = "the table's log changed while it was read; try again"
        raise Unavailable(message, detail=error.detail) from None


def _lists_in_order(store: ObjectStore) -> bool:
    """Whether listings are sorted by name. Those of S3 directory buckets and local folders are not."""
    if isinstance(store, S3Store):
        return not store.config.get("bucket", "").endswith("--x-s3")
    return isinstance(store, AzureStore | GCSStore | MemoryStore)
