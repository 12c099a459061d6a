"""Processes long lists of files in waves of a few seconds, each with newly requested credentials.

Credentials that are valid for minutes therefore suffice for a billion files.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

import anyio
import pyarrow as pa

from sluicegate_spark.engine import TaskSession
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge.deletion import BATCH, Deletion, delete_objects
from sluicegate_spark.purge.manifests import LISTED, PROBLEMS, Listing, Parser, Problems
from sluicegate_spark.tables import TableAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_PARTS = 2_000
_GIVEN_IN_PART = 16  # manifest lists; each takes a while to read
_FIRST_WIDTH = 8
_WIDEST = 1_024
_WAVE_SECONDS = 15.0
_GIVEN = "path string, part int"
_DELETION = "seen long, deleted long, size long, left long, example string, reason string"


@dataclass(frozen=True, slots=True)
class Sorted:
    """Distinct locations, stored on the cluster's disks.

    Attributes:
        rows: `path` and the number of its `part`, sorted by part.
        files: Number of files.
        parts: Number of parts.
    """

    rows: DataFrame
    files: int
    parts: int

    def wave(self, first: int, end: int) -> DataFrame:
        """Return the locations of some parts."""
        return self.rows.where(f"part >= {first} AND part < {end}").select("path")


class Waves:
    """Runs waves in a task's session.

    Attributes:
        granted: Locations that the task can access.

    Args:
        session: The session.
        access: Provides credentials for each wave.
    """

    def __init__(self, session: TaskSession, access: TableAccess) -> None:
        self._session = session
        self._access = access
        self.granted = access.granted
        self._kept: list[DataFrame] = []

    @classmethod
    @asynccontextmanager
    async def within(cls, session: TaskSession, access: TableAccess) -> AsyncIterator[Waves]:
        """Return waves whose lists are dropped at the end of the block."""
        waves = cls(session, access)
        try:
            yield waves
        finally:
            with anyio.CancelScope(shield=True):
                await session.run(lambda spark: waves._drop())

    async def given(self, locations: Iterable[str]) -> Sorted:
        """Return locations of this process as a list on Spark."""
        paths = sorted(set(locations))
        parts = [number // _GIVEN_IN_PART for number in range(len(paths))]
        table = pa.table([pa.array(paths, pa.string()), pa.array(parts, pa.int32())], ["path", "part"])
        rows = await self._session.run(lambda spark: spark.createDataFrame(table, _GIVEN))
        return Sorted(rows, len(paths), -(-len(paths) // _GIVEN_IN_PART))

    async def sort(self, paths: Sequence[DataFrame]) -> Sorted:
        """Return distinct locations in listing order, so that one listing covers much of a part."""
        return await self._session.run(lambda spark: self._sorted(paths))

    async def list_all(
        self, sources: Sorted, parse: Parser, judge: Callable[[Problems], None]
    ) -> list[DataFrame]:
        """Return rows with a `path` for everything that objects name.

        Args:
            sources: The objects.
            parse: Parses their content.
            judge: Called with the unreadable objects of each wave; raises if they are an error.
        """
        listed: list[DataFrame] = []
        async for wave, objects in self._waves(sources):
            rows, problems = await self._listed(wave, Listing(objects, parse))
            if problems.refused and _ended(objects):
                again = Listing(await self._access.objects(), parse)
                rows, problems = await self._listed(wave, again)
            judge(problems)
            listed.append(rows.where("path IS NOT NULL").select("path"))
        return listed

    async def _listed(self, wave: DataFrame, listing: Listing) -> tuple[DataFrame, Problems]:
        rows = wave.mapInArrow(listing, LISTED)
        return rows, await self._session.run(partial(self._read, rows))

    def _read(self, rows: DataFrame, spark: SparkSession) -> Problems:
        """Store listed paths, and return unreadable objects."""
        found = self._keep(rows).selectExpr(*PROBLEMS).head()
        return Problems(*(found or ()))

    async def delete(self, files: Sorted, done: Callable[[Deletion], None]) -> Deletion:
        """Delete files.

        Args:
            files: The files to delete.
            done: Called after each wave.
        """
        total = Deletion()
        async for wave, objects in self._waves(files):
            deletion = await self._deleted(wave, objects)
            if deletion.left and _ended(objects):
                again = await self._deleted(wave, await self._access.objects())
                deletion = again.after(deletion)
            done(deletion)
            total += deletion
        return total

    async def _deleted(self, wave: DataFrame, objects: ObjectAccess) -> Deletion:
        rows = await self._session.run(
            lambda spark: wave.mapInArrow(_Deleting(objects), _DELETION).collect()
        )
        return sum((Deletion(*row) for row in rows), Deletion())

    async def _waves(self, files: Sorted) -> AsyncIterator[tuple[DataFrame, ObjectAccess]]:
        """Yield waves of a few seconds each, whatever the size of the cluster."""
        width, first = _FIRST_WIDTH, 0
        while first < files.parts:
            objects = await self._access.objects()
            began = time.monotonic()
            yield files.wave(first, first + width), objects
            first += width
            width = _next_width(width, time.monotonic() - began)

    def _sorted(self, paths: Sequence[DataFrame]) -> Sorted:
        distinct = self._keep(reduce(lambda some, others: some.union(others), paths).distinct())
        files = distinct.count()
        parts = max(1, min(_MOST_PARTS, -(-files // BATCH)))
        ranges = distinct.repartitionByRange(parts, "path").sortWithinPartitions("path")
        rows = self._keep(ranges.selectExpr("path", "spark_partition_id() AS part"))
        rows.count()
        return Sorted(rows, files, parts)

    def _keep(self, rows: DataFrame) -> DataFrame:
        from pyspark.storagelevel import StorageLevel

        kept = rows.persist(StorageLevel.DISK_ONLY)
        self._kept.append(kept)
        return kept

    def _drop(self) -> None:
        while self._kept:
            self._kept.pop().unpersist()


@dataclass(frozen=True, slots=True)
class _Deleting:
    """For `mapInArrow`: deletes objects, and returns one row per part with the outcome."""

    access: ObjectAccess

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        paths = (path for batch in batches for path in batch.column("path").to_pylist())
        done = delete_objects(self.access, paths)
        yield pa.RecordBatch.from_pylist([asdict(done)])


def _next_width(width: int, seconds: float) -> int:
    factor = min(4.0, _WAVE_SECONDS / max(seconds, 0.1))
    return max(1, min(_WIDEST, int(width * factor)))


def _ended(objects: ObjectAccess) -> bool:
    """Return whether credentials expired during use."""
    expires_at = objects.credentials.expires_at
    return expires_at is not None and expires_at <= time.time() * 1000
