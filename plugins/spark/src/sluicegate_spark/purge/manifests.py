"""Reads manifest lists and manifests in parallel on Spark.

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

# In each row, either `source` names `path`, or `source` has a `problem`.
LISTED = "path string, source string, problem string, reason string"
_SCHEMA = pa.schema([(name, pa.string()) for name in ("path", "source", "problem", "reason")])
_DELETED = 2

# Alphabetical order is also the order of severity, which `COUNTS` relies on.
Problem = Literal["broken", "missing", "refused", "ungranted"]
# Aggregates over such rows: the number of paths, and the attributes of `Problems`. The reported problem
# is of the most severe kind.
COUNTS = (
    "count(path)",
    "count(problem)",
    "count_if(problem = 'refused')",
    "max(struct(problem, source, reason))",
)
Parser = Callable[[bytes], Iterable[str]]


def manifests_in(data: bytes) -> Iterator[str]:
    """Return locations of the manifests in a manifest list."""
    return (row["manifest_path"] for row in _rows(data))


def files_in(data: bytes) -> Iterator[str]:
    """Return locations of live files in a manifest: data, deletes, Puffin files of deletion vectors."""
    return (row["data_file"]["file_path"] for row in _rows(data) if row["status"] != _DELETED)


def _rows(data: bytes) -> Iterator[Mapping[str, Any]]:
    yield from fastavro.reader(io.BytesIO(data))  # type: ignore[misc]  # it yields the records


@dataclass(frozen=True, slots=True)
class Listing:
    """For `mapInArrow`: maps locations of manifests or manifest lists to rows of `LISTED`."""

    access: ObjectAccess
    parse: Parser

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the paths that the objects of each batch name."""
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
    """Objects that could not be read."""

    found: int
    refused: int
    worst: tuple[Problem, str, str] | None

    @property
    def ungranted(self) -> str | None:
        """Return a named location that the task's realm was not granted."""
        return self.worst[2] if self.worst is not None and self.worst[0] == "ungranted" else None


def unlisted(what: str, problems: Problems, remedy: str) -> TaskFailed:
    """Return the failure of a task that can't determine all files."""
    problem, source, reason = problems.worst or ("broken", "", "")
    more = f" (and {problems.found - 1:,} more)" if problems.found > 1 else ""
    if problem == "refused":
        return TaskFailed(
            f"the {what} '{source}'{more} cannot be read: its storage denies access or does not "
            "respond",
            error_code="STORAGE_FAILED",
            retryable=True,
            detail=reason,
        )
    return TaskFailed(
        f"the {what} '{source}'{more} is {problem}, so the files that it names are unknown: {remedy}",
        error_code="STORAGE_FAILED",
        detail=reason or None,
    )
