"""Lists a table's directory in waves of Spark tasks, each of which lists some ranges of keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from sluicegate.api import StorageError, TaskFailed
from sluicegate_spark.orphans.directory_listing import KEYS, LISTED, DirectoryListing, TableDirectory
from sluicegate_spark.orphans.key_ranges import KeyRange
from sluicegate_spark.purge.waves import Waves

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RANGES_OF_CORE: Final = 4
# As long as there are few ranges, tasks divide them after so many files.
_FILES_OF_FIRST: Final = 10_000
_SCHEMA: Final = pa.schema([("after", pa.string()), ("until", pa.string()), ("divisible", pa.bool_())])


@dataclass(frozen=True, slots=True)
class CandidateFiles:
    """Files of a directory that might be orphans.

    Attributes:
        frames: Their `key` and `bytes`, stored on the cluster's disks.
    """

    frames: Sequence[DataFrame]
    count: int


class _Wave(NamedTuple):
    """The outcome of a wave."""

    files: DataFrame
    found: int
    other: str | None
    error: str | None
    left: list[KeyRange]


async def list_directory(
    waves: Waves, directory: TableDirectory, done: Callable[[int], None]
) -> CandidateFiles:
    """List a directory."""
    frames, count, left = [], 0, [KeyRange()]
    while left:
        cluster = await waves.cluster()
        width = _RANGES_OF_CORE * cluster.cores
        # The last ones first: so there are never many, whatever the number of files.
        keys, left = left[-width:], left[:-width]
        most = _FILES_OF_FIRST if len(keys) < width else None
        wave = await _listed(waves, directory, keys, cluster.task_seconds, most)
        frames.append(wave.files)
        count += wave.found
        left += wave.left
        done(count)
    return CandidateFiles(frames, count)


async def _listed(
    waves: Waves, directory: TableDirectory, keys: Sequence[KeyRange], seconds: float, most: int | None
) -> _Wave:
    access = await waves.access.objects()
    listing = DirectoryListing(access, directory, seconds, most)
    wave = await waves.session.run(partial(_run, waves, listing, keys))
    if wave.error is not None and access.has_expired:
        listing = DirectoryListing(await waves.access.objects(), directory, seconds, most)
        wave = await waves.session.run(partial(_run, waves, listing, keys))
    if wave.other is not None:
        raise TaskFailed(
            "another table is in the table's directory, and its files would be taken for "
            f"orphans: it has '{wave.other}'; to delete them anyway, set the property 'force'",
            error_code="INVALID_PAYLOAD",
        )
    if wave.error is not None:
        raise StorageError("the table's directory cannot be listed", detail=wave.error)
    return wave


def _run(
    waves: Waves, listing: DirectoryListing, keys: Sequence[KeyRange], spark: SparkSession
) -> _Wave:
    table = pa.Table.from_pylist([asdict(each) for each in keys], _SCHEMA)
    rows = waves.keep(spark.createDataFrame(table, KEYS).mapInArrow(listing, LISTED))
    found, other, error = rows.selectExpr("count(key)", "min(other)", "min(error)").head() or (
        0,
        None,
        None,
    )
    left = rows.where("divisible IS NOT NULL").select("after", "until", "divisible").collect()
    files = rows.where("key IS NOT NULL").select("key", "bytes")
    return _Wave(files, int(found), other, error, [KeyRange(*each) for each in left])
