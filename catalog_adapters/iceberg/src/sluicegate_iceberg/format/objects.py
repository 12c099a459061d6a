"""Reads objects that a table's metadata names by absolute location."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

import anyio
import pyarrow as pa
from obstore.exceptions import BaseError

from sluicegate.api import (
    Budget,
    CatalogTable,
    ObjectDirectory,
    StorageError,
    TableUnreadable,
    without_queries,
)
from sluicegate.formats import plain_paths
from sluicegate_iceberg.format.broken import named

if TYPE_CHECKING:
    from obstore import GetOptions

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")

_CONCURRENT_READS = 16
_METADATA = "metadata/"
_ONE_SLASH = re.compile(r"^file:/(?!//)")
_HADOOP = re.compile(r"^s3[an]://")


def literal_location(path: str) -> str:
    """Return the literal location for Iceberg's variants: `/a`, `file:/a` and `file:///a` are equal."""
    if path.startswith("/"):
        return f"file://{path}"
    return _HADOOP.sub("s3://", _ONE_SLASH.sub("file:///", path))


class TableObjects:
    """The objects of one table, opened for reading.

    Objects outside the directories that the catalog names are not read, because the metadata's writer
    decides which objects it names.

    Attributes:
        budget: Counts bytes that are read, and the size of decoded objects.
    """

    def __init__(self, table: CatalogTable, directory: ObjectDirectory) -> None:
        self.budget: Budget = directory.budget
        self._directory = directory
        self._root = _as_prefix(table.location)
        metadata = (table.metadata_location or "").rpartition("/")[0]
        own = _as_prefix(metadata).removeprefix(self._root)
        self._metadata = tuple(dict.fromkeys(each for each in (_METADATA, own) if each))
        others = (*table.auxiliary_locations, *([metadata] if metadata else ()))
        self._allowed = tuple(_as_prefix(each) for each in (table.location, *others))
        self._store_root = self._root.removesuffix(directory.key("") + "/" if directory.prefix else "")

    def paths(self, locations: Sequence[str]) -> pa.StringArray:
        """Paths of data files relative to the table, or their locations if they are elsewhere."""
        paths = [literal_location(location).removeprefix(self._root) for location in locations]
        # In object stores, `a//b` and `a/b` are different names, and Iceberg's writers don't
        # normalize them.
        local = self._root.startswith("file:")
        return plain_paths(pa.array(paths, pa.string()), self._metadata, collapse=local)

    async def read(self, location: str, part: tuple[int, int] | None = None) -> bytes:
        """Read an entire object, or a part of it: offset and length in bytes."""
        key = self._key(literal_location(location))
        with self._fetching(key):
            return await self._fetch(key, named("file", location), part)

    async def read_start(self, location: str, most: int) -> bytes:
        """Read at most the first bytes of an object. Raises the same errors as `read`."""
        key = self._key(literal_location(location))
        with self._fetching(key):
            options: GetOptions = {"range": (0, most)}
            result = await self._directory.store.get_async(key, options=options)
            start, end = result.range
            await self._expect(named("file", location), end - start)
            return bytes(await result.bytes_async())

    @contextmanager
    def _fetching(self, key: str) -> Iterator[None]:
        try:
            with self._directory.span("store.get"):
                yield
        except FileNotFoundError:
            raise TableUnreadable(
                "a metadata file of the Iceberg table is missing", detail=key
            ) from None
        except (BaseError, OSError) as error:
            raise StorageError(
                "the table's storage does not respond, or denies access; try again later",
                detail=without_queries(f"{key}: {type(error).__name__}: {error}"),
            ) from None
        except ValueError as error:
            raise TableUnreadable(
                "the Iceberg table's metadata contains an invalid file name", detail=str(error)
            ) from None

    async def _fetch(self, key: str, what: str, part: tuple[int, int] | None) -> bytes:
        store = self._directory.store
        if part is not None:
            await self._expect(what, part[1])
            return await self._fetch_part(key, what, part)
        result = await store.get_async(key)
        size = result.meta["size"]
        await self._expect(what, size)
        content = bytearray()
        async for chunk in result.stream():
            content += chunk
            if len(content) > size:  # the store reported a different size
                self.budget.take(what, bytes=len(chunk))
        return bytes(content)

    async def _fetch_part(self, key: str, what: str, part: tuple[int, int]) -> bytes:
        store, (start, length) = self._directory.store, part
        if not length:
            return b""
        try:
            return bytes(await store.get_range_async(key, start=start, length=length))
        except BaseError:
            # Stores differ in how they treat ranges beyond the end.
            if (await store.head_async(key))["size"] < start + length:
                raise TableUnreadable(
                    f"{what} of the Iceberg table is shorter than its metadata says", detail=key
                ) from None
            raise

    async def _expect(self, what: str, size: int) -> None:
        """Count bytes that are about to be fetched. If there are many, wait for other large reads."""
        await self.budget.admit(size)
        self.budget.take(what, bytes=size)

    async def decode(self, decode: Callable[[*_Arguments], _T], *arguments: *_Arguments) -> _T:
        """Run a decoding function in a thread. It counts against the budget."""
        return await self.budget.run(decode, *arguments)

    async def read_all(
        self, locations: Sequence[str], parts: Sequence[tuple[int, int] | None] | None = None
    ) -> list[bytes]:
        """Read several objects, or parts of them, concurrently. Raises the same errors as `read`."""
        limiter = anyio.CapacityLimiter(_CONCURRENT_READS)

        async def read(location: str, part: tuple[int, int] | None) -> bytes:
            async with limiter:
                return await self.read(location, part)

        return await asyncio.gather(*map(read, locations, parts or [None] * len(locations)))

    def _key(self, location: str) -> str:
        steps = {".", ".."} & set(location.split("/"))
        if location.startswith(self._root) and not steps:
            return self._directory.key(location.removeprefix(self._root))
        inside = location.startswith(self._allowed) and location.startswith(self._store_root)
        if not inside or steps:
            raise TableUnreadable(
                "the Iceberg table's metadata refers to files outside the table's directories",
                detail=location,
            )
        return location.removeprefix(self._store_root)


def _as_prefix(location: str) -> str:
    return literal_location(location).rstrip("/") + "/"
