"""Caches values computed from chunks of a file set's columns, while the chunks exist."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

import pyarrow as pa

MAX_BYTES = 64 << 20  # per table: the bounds of four numeric columns of a million files

_ChunkKey = tuple[int | None, ...]


class Chunk(Protocol):
    """A chunk of a column: a `pyarrow.Array`, or an object equally bound to its memory."""

    @property
    def offset(self) -> int:
        """Offset of its rows in its buffers."""
        ...

    def __len__(self) -> int: ...

    def buffers(self) -> list[Any]:
        """The memory buffers that contain it."""
        ...


class Derived(Protocol):
    """Columns that were computed from a chunk."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that they hold."""
        ...


_T = TypeVar("_T", bound=Derived)


class DerivedColumns:
    """An LRU cache of derived columns, limited to `max_bytes`.

    Chunks never change, so a value derived from a chunk is valid while the chunk exists. Chunks are
    identified by their place in memory. The owner of the chunks must therefore own this cache, and the
    cache must not outlive them.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[tuple[_ChunkKey, Hashable], Derived] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._deriving = threading.Lock()  # takes long, and cached values stay available meanwhile

    @property
    def nbytes(self) -> int:
        """Bytes of the derived columns, never more than `max_bytes`."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def get(
        self,
        chunk: Chunk,
        names: Sequence[Hashable],
        derive: Callable[[Sequence[Hashable]], Sequence[_T]],
    ) -> list[_T]:
        """The derived columns of a chunk by name; computed once, even for concurrent callers."""
        key = _chunk_key(chunk)
        found = self._kept(key, names)
        if len(found) < len(names):
            with self._deriving:
                found = self._kept(key, names)
                if missing := [name for name in names if name not in found]:
                    new = dict(zip(missing, derive(missing), strict=True))
                    self._keep(key, new)
                    found |= new
        return [cast("_T", found[name]) for name in names]

    def carried_to(self, chunks: Iterable[Chunk]) -> DerivedColumns:
        """A new cache for columns that share some chunks, with the values derived from these chunks."""
        living = {_chunk_key(chunk) for chunk in chunks}
        carried = DerivedColumns(self._max_bytes)
        with self._lock:
            entries = [(key, value) for key, value in self._entries.items() if key[0] in living]
        for (chunk, name), value in entries:
            carried._keep(chunk, {name: value})
        return carried

    def _kept(self, chunk: _ChunkKey, names: Iterable[Hashable]) -> dict[Hashable, Derived]:
        with self._lock:
            kept = {
                name: self._entries[chunk, name] for name in names if (chunk, name) in self._entries
            }
            for name in kept:
                self._entries.move_to_end((chunk, name))
            return kept

    def _keep(self, chunk: _ChunkKey, values: Mapping[Hashable, Derived]) -> None:
        with self._lock:
            for name, value in values.items():
                size = value.nbytes
                if size <= self._max_bytes:
                    self._entries[chunk, name] = value
                    self._bytes += size
            while self._bytes > self._max_bytes:
                self._bytes -= self._entries.popitem(last=False)[1].nbytes


def chunks_of(table: pa.Table) -> Iterator[pa.Array]:
    """All chunks of a table's columns, and their dictionaries."""
    for column in table.columns:
        for chunk in column.chunks:
            yield chunk
            if isinstance(chunk, pa.DictionaryArray):
                yield chunk.dictionary


def _chunk_key(chunk: Chunk) -> _ChunkKey:
    places = (None if buffer is None else buffer.address for buffer in chunk.buffers())
    return (chunk.offset, len(chunk), *places)
