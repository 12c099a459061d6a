"""Deletion vectors that lie within another file, served as Delta's readers want them.

Iceberg keeps vectors in Puffin files; a vector there is framed as in Delta's files, but these begin
with a byte that tells their version (Delta protocol, "Deletion Vector Files"). So the gateway serves
that byte and the part, by a link that names the part: nothing is stored, and every process can do it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import obstore
from obstore.store import MemoryStore, ObjectStore

_LOCATION = re.compile(
    r"(?P<file>.+)#deletion-vector=(?P<offset>\d{1,15})-(?P<size>\d{1,9})", re.DOTALL
)
_VERSION = b"\1"
_KEY = "vector"


@dataclass(frozen=True, slots=True)
class VectorPart:
    """A part of a file, in bytes."""

    file: str
    offset: int
    size: int


def vector_part(location: str) -> VectorPart | None:
    """The part that a location or path names: `…/deletes.puffin#deletion-vector=OFFSET-SIZE`."""
    match = _LOCATION.fullmatch(location)
    return match and VectorPart(match["file"], int(match["offset"]), int(match["size"]))


async def vector_object(store: ObjectStore, key: str, part: VectorPart) -> tuple[ObjectStore, str]:
    """A store that holds the vector as a file of its own, and its key there.

    Raises:
        FileNotFoundError: The file does not exist any more.
        BaseError: The store cannot be read, or the file has no such part.
    """
    data = await obstore.get_range_async(store, key, start=part.offset, length=part.size)
    held = MemoryStore()
    await obstore.put_async(held, _KEY, _VERSION + bytes(data))
    return held, _KEY
