"""Processes long lists of files in waves of at most half a minute.

Each wave gets newly requested credentials. Credentials that are valid for minutes therefore suffice for
a billion files.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.lowlevel
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate_spark.cluster import KeptFrames, cores_of, is_connect
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge.deletion import Deletion, delete_batches
from sluicegate_spark.purge.manifests import COUNTS, LISTED, Listing, Parser, Problems
from sluicegate_spark.purge.pace import Pace
from sluicegate_spark.purge.sorted_files import PATH, Batches, SortedFiles, paths_in
from sluicegate_spark.purge.wave_rule import Cluster, Part, PartQueue
from sluicegate_spark.tables import TableAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# For each part: the last location that was processed, whether it was the last one of the part, and the
# attributes of `Deletion`.
OUTCOME = (
    "part long, after string, finished boolean, "
    "seen long, deleted long, size long, left long, example string, reason string"
)


@dataclass(frozen=True, slots=True)
class PartDeletion:
    """For `mapInArrow`: deletes the files of one part, and returns one row of `OUTCOME`.

    Attributes:
        seconds: Begin no batch after this time.
        deletions_per_second: Limit of this Spark task, or `None`.
    """

    access: ObjectAccess
    parts: Mapping[int, Part]
    seconds: float
    deletions_per_second: float | None = None

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the outcome, or nothing for an empty part."""
        remaining = iter(batches)
        first = next((batch for batch in remaining if batch.num_rows), None)
        if first is not None:
            part = self.parts[first["part"][0].as_py()]
            yield self._deleted(part, _paths_of_part(chain([first], remaining), part.after))
        # A Python process that does not read all of its input ends, and Spark has to start another one.
        for _ in remaining:
            pass

    def _deleted(self, part: Part, paths: Iterator[str]) -> pa.RecordBatch:
        pace, end = Pace(self.deletions_per_second), time.monotonic() + self.seconds
        total, after, expired = Deletion(), part.after, False
        with closing(delete_batches(self.access, paths, pace, end)) as outcomes:
            for last, done in outcomes:
                if done.left and self.access.has_expired and not part.stalled:
                    total, expired = total + done.to_repeat, True
                    break
                total, after = total + done, last
        finished = not expired and next(paths, None) is None
        state = {"part": part.number, "after": after, "finished": finished}
        return pa.RecordBatch.from_pylist([state | asdict(total)])


def _paths_of_part(batches: Batches, after: str) -> Iterator[str]:
    for batch in batches:
        paths = batch["path"]
        yield from (paths.filter(pc.greater(paths, after)) if after else paths).to_pylist()


_Item = TypeVar("_Item")

# Spark's driver collects a few sampled paths for each part to find the limits of the ranges.
SETTINGS = {"spark.sql.execution.rangeExchange.sampleSizePerPartition": "10"}
# Names of the same object can have different schemes, hosts of an Azure account, and slashes.
_COMPARABLE = (
    "regexp_replace(regexp_replace(replace(path, '.blob.', '.dfs.'), '^[A-Za-z][^:/]*:/+', ''), "
    "'/+', '/')"
)
_MANIFESTS_OF_CORE = 128  # in a wave; reading one takes a good part of a second


@dataclass(frozen=True, slots=True)
class Listed:
    """Locations that objects name, with duplicates."""

    frames: Sequence[DataFrame]
    count: int


class Waves:
    """Runs waves in a task's session."""

    def __init__(
        self,
        session: TaskSession,
        access: TableAccess,
        deletions_per_second: int | None = None,
        check_lease: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
    ) -> None:
        self.session = session
        self.access = access
        self._deletions_per_second = deletions_per_second
        self._check_lease = check_lease
        self.granted = access.granted
        self._kept = KeptFrames()
        self._cluster: Cluster | None = None

    @classmethod
    @asynccontextmanager
    async def within(
        cls,
        session: TaskSession,
        access: TableAccess,
        deletions_per_second: int | None = None,
        check_lease: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
    ) -> AsyncIterator[Waves]:
        """Return waves whose lists are dropped at the end of the block."""
        waves = cls(session, access, deletions_per_second, check_lease)
        try:
            yield waves
        finally:
            with anyio.CancelScope(shield=True):
                await session.run(lambda spark: waves._kept.drop())

    async def list_all(
        self,
        sources: SortedFiles | Sequence[str],
        parse: Parser,
        judge: Callable[[Problems], None],
    ) -> Listed:
        """Return everything that objects name."""
        frames, count = [], 0
        async for wave in self._sources(sources):
            objects = await self.access.objects()
            rows, found, problems = await self._listed(wave, Listing(objects, parse))
            if problems.refused and objects.has_expired:
                again = Listing(await self.access.objects(), parse)
                rows, found, problems = await self._listed(wave, again)
            judge(problems)
            frames.append(rows.where("path IS NOT NULL").select("path"))
            count += found
        return Listed(frames, count)

    async def sort(self, listed: Listed, others: Sequence[str] = ()) -> SortedFiles:
        """Return distinct locations in listing order, so that one listing covers much of a part."""
        return await self.session.run(partial(self._sorted, listed, others))

    async def joined(self, listed: Listed, others: Sequence[str]) -> Listed:
        """Return listed locations together with others."""
        frame = await self.session.run(partial(_frame, paths=others))
        return Listed([*listed.frames, frame], listed.count + len(others))

    async def count_common(self, some: Listed, others: Listed) -> tuple[int, str]:
        """Return the number of locations that both lists contain in any spelling, and one of them."""
        parts = (await self.cluster()).parts(some.count + others.count)

        def common(spark: SparkSession) -> tuple[int, str]:
            first, second = (
                reduce(lambda left, right: left.union(right), each.frames)
                .selectExpr("path", f"{_COMPARABLE} AS key")
                .repartition(parts, "key")
                for each in (some, others)
            )
            found = first.join(second.select("key"), "key", "left_semi")
            count, example = found.selectExpr("count(DISTINCT key)", "max(path)").head() or (0, None)
            return int(count), example or ""

        return await self.session.run(common)

    async def delete(self, files: SortedFiles, done: Callable[[Deletion], None]) -> Deletion:
        """Delete files."""
        total = Deletion()
        queue = PartQueue(files.parts)
        while queue:
            cluster = await self.cluster()
            unfinished, deletion = await self._deleted(files, queue.take(cluster.width), cluster)
            queue.put_back(unfinished)
            done(deletion)
            total += deletion
        return total

    async def _sources(self, sources: SortedFiles | Sequence[str]) -> AsyncIterator[Sequence[str]]:
        """Yield the locations of each wave of a listing."""
        cluster = await self.cluster()
        most = _MANIFESTS_OF_CORE * cluster.cores
        if not isinstance(sources, SortedFiles):
            for paths in _chunks(sources, most):
                yield paths
            return
        width = max(1, most * sources.parts // max(1, sources.files))
        for numbers in _chunks(range(sources.parts), width):
            yield await self.session.run(partial(_paths, sources, numbers))

    async def _listed(self, paths: Sequence[str], listing: Listing) -> tuple[DataFrame, int, Problems]:
        return await self.session.run(partial(self._read, paths, listing))

    def _read(
        self, paths: Sequence[str], listing: Listing, spark: SparkSession
    ) -> tuple[DataFrame, int, Problems]:
        """Store listed paths, and return unreadable objects."""
        rows = self.keep(_frame(spark, paths).mapInArrow(listing, LISTED))
        found, *problems = rows.selectExpr(*COUNTS).head() or (0, 0, 0, None)
        return rows, found, Problems(*problems)

    async def _deleted(
        self, files: SortedFiles, parts: Sequence[Part], cluster: Cluster
    ) -> tuple[list[Part], Deletion]:
        """Run a wave, and return the unfinished parts and the sum of deletions."""
        objects = await self.access.objects()
        work = PartDeletion(
            objects,
            {part.number: part for part in parts},
            cluster.task_seconds,
            cluster.deletions_per_task,
        )
        await self._check_lease()
        rows = await self.session.run(lambda spark: files.process([*work.parts], work, OUTCOME))
        unfinished = [
            replace(work.parts[number], after=after, stalled=after == work.parts[number].after)
            for number, after, finished, *_ in rows
            if not finished
        ]
        return unfinished, sum((Deletion(*counts) for _, _, _, *counts in rows), Deletion())

    async def cluster(self) -> Cluster:
        """Return the cluster's present size. With Spark Connect, it is requested once."""
        return await self.session.run(self._seen)

    def _seen(self, spark: SparkSession) -> Cluster:
        if self._cluster is None or not is_connect(spark):
            self._cluster = Cluster(
                cores_of(spark), self._deletions_per_second, prunes=not is_connect(spark)
            )
        return self._cluster

    def _sorted(self, listed: Listed, others: Sequence[str], spark: SparkSession) -> SortedFiles:
        parts = self._seen(spark).parts(listed.count + len(others))
        frames = [_frame(spark, others), *listed.frames]
        paths = reduce(lambda some, more: some.union(more), frames)
        # Equal paths are in the same range, so that `distinct` needs no second shuffle.
        ranges = paths.repartitionByRange(parts, "path").distinct().sortWithinPartitions("path")
        rows = self.keep(ranges.selectExpr("path", "spark_partition_id() AS part"))
        # Spark makes fewer ranges if there are few different paths, and none if there are no paths.
        files, last = rows.selectExpr("count(*)", "coalesce(max(part), -1)").head() or (0, -1)
        return SortedFiles(rows, files, last + 1)

    def keep(self, rows: DataFrame) -> DataFrame:
        """Store rows on the cluster's disks until the waves end."""
        return self._kept.keep(rows)


def _paths(files: SortedFiles, numbers: Sequence[int], spark: SparkSession) -> list[str]:
    return [row["path"] for row in files.process(numbers, paths_in, PATH)]


def _frame(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    return spark.createDataFrame(pa.table({"path": pa.array(paths, pa.string())}), PATH)


def _chunks(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))
