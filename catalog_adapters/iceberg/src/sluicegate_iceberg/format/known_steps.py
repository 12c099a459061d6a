"""Caches changes of versions. Snapshots never change, so neither do their changes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from cachetools import LRUCache

if TYPE_CHECKING:
    from sluicegate.formats import CommitFiles, TableState
    from sluicegate_iceberg.format.lineage import Version
    from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata

_MOST_BYTES: Final = 64 << 20
# Fields that every commit changes.
_MOVING: Final = frozenset(("last_updated", "snapshots", "current_snapshot_id", "were_current", "refs"))


@dataclass(frozen=True, slots=True)
class Step:
    """A version, and its changes.

    Attributes:
        timestamp: Epoch milliseconds.
    """

    state: TableState
    timestamp: int
    files: CommitFiles

    @property
    def nbytes(self) -> int:
        """Return the size in memory, in bytes."""
        metadata = self.state.metadata
        texts = len(metadata.schema_string) + len(metadata.parquet_schema_string or "")
        return self.files.nbytes + texts


class KnownSteps:
    """Cache of steps of all tables, with a maximum size in bytes."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._steps: LRUCache[Hashable, Step] = LRUCache(most_bytes, attrgetter("nbytes"))

    def get(self, key: Hashable) -> Step | None:
        """Return a cached step."""
        return self._steps.get(key)

    def put(self, key: Hashable, step: Step) -> None:
        """Cache a step, unless it is larger than the entire cache."""
        if step.nbytes <= self._steps.maxsize:
            self._steps[key] = step


def reading_of(table_id: str, metadata: IcebergMetadata) -> Hashable:
    """Return everything, except snapshots, that determines how files are read, such as schemas."""
    texts = (
        repr(getattr(metadata, each.name)) for each in fields(metadata) if each.name not in _MOVING
    )
    return table_id, *texts


def step_key(reading: Hashable, before: Version | None, version: Version) -> Hashable:
    """Return a key of everything that a step depends on."""
    earlier = before.snapshot.id if before and before.snapshot else None
    return reading, earlier, version.number, version.snapshot.id if version.snapshot else None
