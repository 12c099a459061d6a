"""Deletes a part of a list of files in a Spark task, for a limited time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.purge.deletion import Deletion, delete_batches
from sluicegate_spark.purge.pace import Pace
from sluicegate_spark.purge.sorted_files import Batches
from sluicegate_spark.purge.wave_rule import Part

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
            yield self._deleted(part, _paths(chain([first], remaining), part.after))
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


def _paths(batches: Batches, after: str) -> Iterator[str]:
    for batch in batches:
        paths = batch["path"]
        yield from (paths.filter(pc.greater(paths, after)) if after else paths).to_pylist()
