"""Lists all files of a table on Spark, starting from its manifest lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import anyio.to_thread
import obstore

from sluicegate.api import Budget, TableLimits
from sluicegate_iceberg.format.manifests.avro import AvroFile
from sluicegate_iceberg.format.manifests.avro_schema import manifest_list_schema
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.manifests import Problems, files_in, manifests_in, unlisted
from sluicegate_spark.purge.sorted_files import SortedFiles
from sluicegate_spark.purge.waves import Listed, Waves

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


_SKIP: Final = (
    "restore it, or set the property 'missing_manifests' to 'skip' and remove orphan files yourself"
)


class TableFiles:
    """Lists the manifests and the content files of a table."""

    def __init__(
        self, waves: Waves, history: History, *, skip_missing: bool, remedy: str = _SKIP
    ) -> None:
        self._waves = waves
        self._history = history
        self._skip_missing = skip_missing
        self._remedy = remedy

    async def manifests(self) -> SortedFiles | tuple[str, ...]:
        """Return the manifests of all snapshots: their sorted locations, if they are few."""
        lists = sorted(set(self._history.manifest_lists))
        objects = await self._waves.access.objects()
        few = partial(few_manifests, objects, lists, self._history.manifests)
        if (found := await anyio.to_thread.run_sync(few)) is not None:
            return found
        listed = await self._waves.list_all(lists, manifests_in, self._judge("manifest list"))
        return await self._waves.sort(listed, self._history.manifests)

    async def content(self, manifests: SortedFiles | Sequence[str]) -> SortedFiles:
        """Return the files that are live in any manifest."""
        return await self._waves.sort(await self.content_with_duplicates(manifests))

    async def content_with_duplicates(self, manifests: SortedFiles | Sequence[str]) -> Listed:
        """Return the same as `content`, unsorted."""
        return await self._waves.list_all(manifests, files_in, self._judge("manifest"))

    async def check(self) -> None:
        """List everything, only to verify that it is readable and granted."""
        await self.content_with_duplicates(await self.manifests())

    def _judge(self, what: str) -> Callable[[Problems], None]:
        def judge(problems: Problems) -> None:
            if problems.ungranted is not None:
                self._waves.granted.check([problems.ungranted])
            if problems.refused or (problems.found and not self._skip_missing):
                raise unlisted(what, problems, self._remedy)

        return judge
