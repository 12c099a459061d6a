"""What versions changed, kept: a snapshot never changes, and so neither does what it changed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from cachetools import LRUCache

if TYPE_CHECKING:
    from sluicegate.formats import CommitFiles, TableState
    from sluicegate_iceberg.format.lineage import Version
    from sluicegate_iceberg.format.metadata import IcebergMetadata

_MOST_BYTES: Final = 64 << 20
# What every commit changes.
_MOVING: Final = frozenset(("last_updated", "snapshots", "current_snapshot_id", "were_current"))


@dataclass(frozen=True, slots=True)
class Step:
    """A version, and what it changed.

    Attributes:
        state: What is in force since.
        timestamp: Epoch milliseconds.
        files: Those that came and went.
    """

    state: TableState
    timestamp: int
    files: CommitFiles

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        metadata = self.state.metadata
        texts = len(metadata.schema_string) + len(metadata.parquet_schema_string or "")
        return self.files.nbytes + texts


class KnownSteps:
    """Steps of all tables, up to a number of bytes.

    Args:
        most_bytes: What they may hold together.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._steps: LRUCache[Hashable, Step] = LRUCache(most_bytes, attrgetter("nbytes"))

    def get(self, key: Hashable) -> Step | None:
        """A known step."""
        return self._steps.get(key)

    def put(self, key: Hashable, step: Step) -> None:
        """Keep a step, if it is not larger than all that may be kept."""
        if step.nbytes <= self._steps.maxsize:
            self._steps[key] = step


def reading_of(table_id: str, metadata: IcebergMetadata) -> Hashable:
    """All but the snapshots that says how a table's files are read: its schemas, for example.

    Args:
        table_id: The catalog's, for tables without a UUID.
        metadata: What the newest metadata file says.
    """
    texts = (
        repr(getattr(metadata, each.name)) for each in fields(metadata) if each.name not in _MOVING
    )
    return table_id, *texts


def step_key(reading: Hashable, before: Version | None, version: Version) -> Hashable:
    """All that a step depends on.

    Args:
        reading: How files are read.
        before: The version before, if there is any.
        version: The version.
    """
    earlier = before.snapshot.id if before and before.snapshot else None
    return reading, earlier, version.number, version.snapshot.id if version.snapshot else None
