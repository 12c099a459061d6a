"""Keeps the encoded texts of files in the memory that cached snapshots leave of their budget."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING

from sluicegate.telemetry.metrics import gauge

if TYPE_CHECKING:
    import pyarrow as pa

    from sluicegate.tables.packed import PackedTexts

_SEPARATOR = b"\0"  # JSON and encoded paths do not contain it
# Bytes of the objects that hold a block: its key, its text, and their place in a dictionary.
_OVERHEAD = 400

_Place = tuple[int, int]


@dataclass(slots=True)
class _Kept:
    """The blocks of a chunk in one encoding.

    Attributes:
        nbytes: Bytes of memory of the blocks.
    """

    used: int
    nbytes: int = 0
    blocks: dict[_Place, tuple[bytes, int]] = field(default_factory=dict)


class EncodedBlocks:
    """Texts of files that are the same in each response, compressed, as long as there is room.

    They are kept when a chunk is encoded for the second time, so that a table that is queried once
    costs nothing. Blocks of a chunk never evict those of chunks that were used more recently than the
    chunk had been before. A response of a table that does not fit thus keeps the blocks that do.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._nbytes = 0
        self._chunks: dict[int, dict[Hashable, _Kept]] = {}
        self._uses = count()
        self._lock = RLock()  # chunks are also freed in other threads

    @property
    def nbytes(self) -> int:
        """Bytes of memory of all blocks."""
        return self._nbytes

    def resize(self, room: int) -> None:
        """Set the maximum bytes of memory, and evict the least recently used blocks beyond it."""
        with self._lock:
            self._room = room
            self._evict(0, next(self._uses))
        gauge("sluicegate.lines.memory", self._nbytes)

    def open(self, chunk: PackedTexts, encoding: Hashable) -> ChunkBlocks:
        """The blocks of a chunk for one response."""
        with self._lock:
            if id(chunk) not in self._chunks:
                self._chunks[id(chunk)] = {}
                weakref.finalize(chunk, self._forget, id(chunk)).atexit = False
            encodings, now = self._chunks[id(chunk)], next(self._uses)
            kept = encodings.get(encoding)
            before = None if kept is None else kept.used
            kept = encodings.setdefault(encoding, _Kept(now))
            kept.used = now
            return ChunkBlocks(self, kept, before)

    def unpack(self, kept: _Kept, place: _Place) -> list[bytes] | None:
        """The texts of a block, if it is kept."""
        with self._lock:
            found = kept.blocks.get(place)
        if found is None:
            return None
        packed, size = found
        texts: list[bytes] = _codec().decompress(packed, size, asbytes=True).split(_SEPARATOR)
        return texts

    def pack(self, kept: _Kept, place: _Place, texts: Sequence[bytes], before: int) -> bool:
        """Keep the texts of a block, and return whether there was room."""
        joined = _SEPARATOR.join(texts)
        if joined.count(_SEPARATOR) != len(texts) - 1:
            return False
        packed = _codec().compress(joined, asbytes=True)
        with self._lock:
            if place in kept.blocks or not self._evict(len(packed) + _OVERHEAD, before):
                return False
            kept.blocks[place] = packed, len(joined)
            self._count(kept, len(packed) + _OVERHEAD)
        gauge("sluicegate.lines.memory", self._nbytes)
        return True

    def _evict(self, needed: int, before: int) -> bool:
        """Make room, if blocks that were last used before a time are enough for it."""
        while self._nbytes + needed > self._room:
            oldest = min(
                (kept for kept in self._every() if kept.nbytes),
                key=lambda kept: kept.used,
                default=None,
            )
            if oldest is None or oldest.used >= before:
                return False
            oldest.blocks.clear()
            self._count(oldest, -oldest.nbytes)
        return True

    def _forget(self, chunk: int) -> None:
        with self._lock:
            for kept in self._chunks.pop(chunk).values():
                self._count(kept, -kept.nbytes)

    def _count(self, kept: _Kept, change: int) -> None:
        kept.nbytes += change
        self._nbytes += change

    def _every(self) -> list[_Kept]:
        # Copied, because the garbage collector can free a chunk at any time, also in this thread.
        return [kept for encodings in [*self._chunks.values()] for kept in [*encodings.values()]]


@cache
def _codec() -> pa.Codec:
    import pyarrow as pa  # readers of tables are created before it is loaded

    return pa.Codec("zstd")


class ChunkBlocks:
    """The blocks of a chunk in one encoding, for one response."""

    def __init__(self, owner: EncodedBlocks, kept: _Kept, before: int | None) -> None:
        self._owner = owner
        self._kept = kept
        self._before = before

    def get(self, start: int, rows: int) -> list[bytes] | None:
        """The texts of a block, if it is kept."""
        return self._owner.unpack(self._kept, (start, rows))

    @property
    def wanted(self) -> bool:
        """Whether texts of further blocks can be kept."""
        return self._before is not None

    def keep(self, start: int, rows: int, texts: Sequence[bytes]) -> None:
        """Keep the texts of a block. If there is no room, no further ones are wanted."""
        if self._before is not None and not self._owner.pack(
            self._kept, (start, rows), texts, self._before
        ):
            self._before = None
