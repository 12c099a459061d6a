"""Creates files of large deletion vectors when they are fetched.

Source: Delta protocol, "Deletion Vector Files".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import anyio.to_thread
from pyroaring import BitMap64

from sluicegate.api import Budget
from sluicegate_iceberg.format.broken import named
from sluicegate_iceberg.format.deletes.delete_files import DeleteFile, delete_files
from sluicegate_iceberg.format.deletes.positions import rows_in
from sluicegate_iceberg.format.deletes.recipes import PositionDeletes, Recipe, StoredVector
from sluicegate_iceberg.format.deletes.vectors import payload_in, payload_of, vector_file
from sluicegate_iceberg.format.manifests.manifest_files import DELETES, Manifest, listed_manifests
from sluicegate_iceberg.format.objects import TableObjects

# Maximum number of files in memory. Position delete files are small, but there can be many.
_AT_ONCE = 8

_T = TypeVar("_T")


async def make_vector_file(objects: TableObjects, recipe: Recipe) -> bytes:
    """Return the file that a link refers to."""
    if isinstance(recipe, StoredVector):
        blob = await objects.read(recipe.location, (recipe.offset, recipe.size))
        return await anyio.to_thread.run_sync(lambda: vector_file(payload_in(blob)))
    rows = await _deleted_rows(objects, recipe)
    return await anyio.to_thread.run_sync(lambda: vector_file(payload_of(rows)))


async def _deleted_rows(objects: TableObjects, recipe: PositionDeletes) -> BitMap64:
    rows = BitMap64()
    for some in _batches(await _delete_files(objects, recipe)):
        contents = await objects.read_all([file.location for file in some])
        rows |= await objects.decode(_rows_in_all, some, contents, recipe.data_file, objects.budget)
    return rows


async def _delete_files(objects: TableObjects, recipe: PositionDeletes) -> list[DeleteFile]:
    """Return the position delete files that might apply to the data file."""
    found: list[DeleteFile] = []
    manifests = [
        manifest
        for manifest in await listed_manifests(objects, recipe.manifest_list)
        if manifest.content == DELETES and manifest.sequence_number >= recipe.sequence_number
    ]
    for some in _batches(manifests):
        contents = await objects.read_all([manifest.path for manifest in some])
        found += await objects.decode(_applying, some, contents, recipe, objects.budget)
    return found


def _applying(
    manifests: Sequence[Manifest], contents: Sequence[bytes], recipe: PositionDeletes, budget: Budget
) -> list[DeleteFile]:
    return [
        file
        for manifest, content in zip(manifests, contents, strict=True)
        for file in delete_files(manifest, content, budget, None)
        if file.vector_of is None
        and file.sequence_number >= recipe.sequence_number
        and file.may_name(recipe.data_file)
    ]


def _rows_in_all(
    files: Sequence[DeleteFile], contents: Sequence[bytes], data_file: str, budget: Budget
) -> BitMap64:
    rows = BitMap64()
    for file, content in zip(files, contents, strict=True):
        rows |= rows_in(content, data_file, budget, named("delete file", file.location))
    return rows


def _batches(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE))
