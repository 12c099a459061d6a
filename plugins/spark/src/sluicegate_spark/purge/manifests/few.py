"""Reads the manifest lists of small and medium tables in the worker, which takes less time than a job.

Source: Iceberg specification, "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import obstore

from sluicegate.api import Budget, TableLimits
from sluicegate_iceberg.format.manifests.avro import AvroFile
from sluicegate_iceberg.format.manifests.avro_schema import manifest_list_schema
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_spark.objects import ObjectAccess

MOST: Final = 1_000
"""Manifests that the worker lists, and that it deletes with one request."""
_MOST_LISTS: Final = 64
_AT_ONCE: Final = 8
_LONGEST: Final = 1 << 20  # bytes of a list: some 200 are for each manifest
_MOST_BYTES: Final = 32 << 20  # of all lists, decoded


class _UnfitError(Exception):
    """The lists name too many manifests, or one that is not granted."""


def few_manifests(
    access: ObjectAccess, lists: Sequence[str], others: Sequence[str]
) -> tuple[str, ...] | None:
    """Return distinct manifests, sorted.

    Returns:
        `None` if a cluster should read the lists: there are many manifests, or anything is wrong with
        one of the lists. The cluster then finds it out again, and reports it.
    """
    if len(lists) > _MOST_LISTS:
        return None
    budget = Budget(TableLimits(bytes=_MOST_BYTES))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            found = set(others)
            for data in pool.map(partial(_content, access), lists):
                found.update(_named(access, data, budget))
        except Exception:  # a file decides what is raised
            return None
    return tuple(sorted(found, key=literal_location)) if len(found) <= MOST else None


def _content(access: ObjectAccess, location: str) -> bytes:
    store, key = access.open(literal_location(location))
    response = obstore.get(store, key)
    if response.meta["size"] > _LONGEST:
        raise _UnfitError
    return bytes(response.bytes())


def _named(access: ObjectAccess, data: bytes, budget: Budget) -> Iterator[str]:
    file = AvroFile(data, "a manifest list", budget)
    for row in file.rows(manifest_list_schema(file.json("avro.schema"))):
        path = row["manifest_path"]
        if not isinstance(path, str) or not access.granted.allows(path):
            raise _UnfitError
        yield path
