"""What versions changed, kept: a snapshot never changes, and so neither does what it changed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from cachetools import LRUCache

if TYPE_CHECKING:
    from sluicegate.formats import CommitFiles, TableState
    from sluicegate_iceberg.format.lineage import Version
    from sluicegate_iceberg.format.metadata import IcebergMetadata

_MOST_BYTES: Final = 64 << 20


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


def step_key(
    table_id: str, metadata: IcebergMetadata, before: Version | None, version: Version
) -> Hashable:
    """All that a step depends on: its snapshots, and the schemas that say how their files are read.

    Args:
        table_id: The catalog's, for tables without a UUID.
        metadata: What the newest metadata file says.
        before: The version before, if there is any.
        version: The version.
    """
    earlier = before.snapshot.id if before and before.snapshot else None
    return (
        metadata.table_uuid or table_id,
        earlier,
        version.number,
        version.snapshot.id if version.snapshot else None,
        metadata.current_schema_id,
        frozenset(metadata.schemas),
        metadata.all_schemas,
        metadata.name_mapping,
    )
