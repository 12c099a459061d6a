"""The version of a source that a refresh reads."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate_spark.materialization.incremental.rules import RebuildRequired


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """The version of a source that a refresh reads.

    Attributes:
        number: The version, or the id of the snapshot; `None` if Spark can't read it with the table's
            current columns.
        table_bytes: Size of a Delta table.
    """

    text: str
    identity: str
    number: int | None
    table_bytes: int = 0
    has_feed: bool = False

    def readable(self) -> int:
        """Return the version, or the id of the snapshot."""
        if self.number is None:
            raise RebuildRequired(
                "the source is empty, or its columns have changed since its current snapshot"
            )
        return self.number
