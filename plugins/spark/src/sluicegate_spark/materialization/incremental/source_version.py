"""The version of a source that a refresh reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.materialization.incremental.rules import RebuildRequired

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """Rows of a source, with all of its columns. Updated rows are in both."""

    added: DataFrame | None = None
    removed: DataFrame | None = None


def without(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return rows without the columns that a format adds to changes."""
    return rows.select([identifier(name) for name in rows.columns if name not in columns])


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
