"""What changed in a source between two versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluicegate_spark.maintenance.sql import identifier

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
