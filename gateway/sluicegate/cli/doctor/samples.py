"""Finds an object in a storage that checks can read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sluicegate.api import ObjectDirectory

_MOST_BATCHES = 10
_BATCH = 100
# Other names can have several encodings, which isn't what these checks are about.
_PLAIN = re.compile(r"[A-Za-z0-9_./=-]+")


@dataclass(frozen=True, slots=True)
class Sample:
    """An object."""

    key: str
    name: str


async def find_sample(directory: ObjectDirectory) -> Sample | None:
    """Return one of the first objects in a directory that isn't empty; `None` if there is none."""
    batches = directory.store.list(directory.prefix or None, chunk_size=_BATCH)
    seen = 0
    async for batch in batches:
        for item in batch:
            name = item["path"].removeprefix(directory.prefix).lstrip("/")
            if item["size"] and _PLAIN.fullmatch(name):
                return Sample(item["path"], name)
        seen += 1
        if seen == _MOST_BATCHES:
            break
    return None


async def read_byte(directory: ObjectDirectory, key: str) -> None:
    """Read the first byte of an object."""
    await directory.store.get_range_async(key, start=0, length=1)
