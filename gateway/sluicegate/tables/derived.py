"""What was computed from chunks of a file set's columns, kept for as long as these chunks live."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

import pyarrow as pa

MAX_BYTES = 64 << 20  # for each table: the bounds of four numeric columns of a million files

_ChunkKey = tuple[int | None, ...]


class Chunk(Protocol):
    """A chunk of a column: a `pyarrow.Array`, or what is as much bound to its place in memory."""

    @property
    def offset(self) -> int:
        """Where its rows start in its buffers."""
        ...

    def __len__(self) -> int: ...

    def buffers(self) -> list[Any]:
        """The memory that it is in."""
        ...


class Derived(Protocol):
    """Columns that were computed from a chunk."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that they hold."""
        ...


_T = TypeVar("_T", bound=Derived)


class DerivedColumns:
    """Keeps what was used last of what was derived, as much as fits into `max_bytes`.

    Chunks never change, so what was derived from one is right for as long as it lives. A chunk is known
    by its place in memory: this belongs to who holds the chunks, and must not outlive them.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[tuple[_ChunkKey, Hashable], Derived] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._deriving = threading.Lock()  # takes long, and what is kept can be had meanwhile

    @property
    def nbytes(self) -> int:
        """Bytes that the derived columns hold; never more than `max_bytes`."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def get(
        self,
        chunk: Chunk,
        names: Sequence[Hashable],
        derive: Callable[[Sequence[Hashable]], Sequence[_T]],
    ) -> list[_T]:
        """What some names stand for in a chunk; derived once, however many ask at the same time.

        Args:
            chunk: A chunk of the columns that this belongs to.
            names: Different ones; a name always stands for the same computation.
            derive: Called with the names that are not kept; answers in their order.
        """
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
        """A new one for columns that have some of the same chunks, with what was derived from these."""
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
