"""What manifest lists and manifests name, read side by side on Spark.

Source: Iceberg specification, "Manifest Lists", "Manifests".
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import fastavro
import obstore
import pyarrow as pa
from obstore.exceptions import BaseError

from sluicegate.api import TaskFailed
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_spark.failures import reason_of
from sluicegate_spark.objects import ObjectAccess

# Of a row, either `path` is named by the object `source`, or that has a `problem`.
LISTED = "path string, source string, problem string, reason string"
_SCHEMA = pa.schema([(name, pa.string()) for name in ("path", "source", "problem", "reason")])
_DELETED = 2

# In the order of the alphabet, which `PROBLEMS` goes by, the last is the worst.
Problem = Literal["broken", "missing", "refused", "ungranted"]
# Over such rows, what `Problems` has: the first is of the worst kind.
PROBLEMS = (
    "count(problem)",
    "count_if(problem = 'refused')",
    "max(struct(problem, source, reason))",
)
Parser = Callable[[bytes], Iterable[str]]


def manifests_in(data: bytes) -> Iterator[str]:
    """Locations of the manifests that a manifest list names."""
    return (row["manifest_path"] for row in _rows(data))


def files_in(data: bytes) -> Iterator[str]:
    """Locations of the live files of a manifest: data, deletes, Puffin files of deletion vectors."""
    return (row["data_file"]["file_path"] for row in _rows(data) if row["status"] != _DELETED)


def _rows(data: bytes) -> Iterator[Mapping[str, Any]]:
    yield from fastavro.reader(io.BytesIO(data))  # type: ignore[misc]  # it yields the records


@dataclass(frozen=True, slots=True)
class Listing:
    """For `mapInArrow`: from locations of manifests, or of their lists, to rows of `LISTED`.

    Attributes:
        access: Opens them.
        parse: Their bytes.
    """

    access: ObjectAccess
    parse: Parser

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What each of the batches' objects names."""
        for batch in batches:
            for source in batch.column("path").to_pylist():
                yield self._listed(source)

    def _listed(self, source: str) -> pa.RecordBatch:
        store, key = self.access.open(literal_location(source))
        try:
            named = list(self.parse(bytes(obstore.get(store, key).bytes())))
            outside = next((each for each in named if not self.access.granted.allows(each)), None)
        except FileNotFoundError:
            return _failed(source, "missing", "")
        except (BaseError, OSError) as error:
            return _failed(source, "refused", reason_of(error))
        except (ValueError, KeyError, EOFError, TypeError, IndexError, AttributeError) as error:
            return _failed(source, "broken", reason_of(error))
        if outside is not None:
            return _failed(source, "ungranted", outside)
        rows = {"path": named, "source": [source] * len(named)}
        nothing = [None] * len(named)
        return pa.RecordBatch.from_pydict(rows | {"problem": nothing, "reason": nothing}, _SCHEMA)


def _failed(source: str, problem: Problem, reason: str) -> pa.RecordBatch:
    row = {"path": None, "source": source, "problem": problem, "reason": reason}
    return pa.RecordBatch.from_pylist([row], _SCHEMA)


class Problems(NamedTuple):
    """Objects that could not be read.

    Attributes:
        found: How many.
        refused: How many of them the store did not give.
        worst: One of them: its problem, its location, and what the store or the parser said; of an
            ungranted one, the location that it names.
    """

    found: int
    refused: int
    worst: tuple[Problem, str, str] | None

    @property
    def ungranted(self) -> str | None:
        """A location that is named, and that the task's realm was not granted."""
        return self.worst[2] if self.worst is not None and self.worst[0] == "ungranted" else None


def unlisted(what: str, problems: Problems) -> TaskFailed:
    """The failure of a purge that cannot find out about all files.

    Args:
        what: What could not be read: a manifest or a manifest list.
        problems: At least one.
    """
    problem, source, reason = problems.worst or ("broken", "", "")
    more = f" (and {problems.found - 1:,} more)" if problems.found > 1 else ""
    if problem == "refused":
        return TaskFailed(
            f"the {what} '{source}'{more} cannot be read: its storage refuses or does not answer",
            error_code="STORAGE_FAILED",
            retryable=True,
            detail=reason,
        )
    return TaskFailed(
        f"the {what} '{source}'{more} is {problem}, so the files that it named are not known: bring it "
        "back, or set the property 'missing_manifests' to 'skip' and look for orphan files yourself",
        error_code="STORAGE_FAILED",
        detail=reason or None,
    )
