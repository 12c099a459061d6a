"""Bounds of decimals at which a writer ran out of digits, which must not reach readers that prune.

delta-rs 1.6 writes the largest or smallest 64-bit integer as the bound of values beyond it. Readers
that use such a bound lose the rows behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.lru import cached_by_text
from sluicegate.tables.column_mapping import PHYSICAL_NAME
from sluicegate.tables.features import schema_fields
from sluicegate.tables.predicates.column_types import ColumnType, Family
from sluicegate.tables.predicates.values import can_saturate

_BOUND = r"-?922337203685477580[78](?:\.0+)?"


@dataclass(frozen=True, slots=True)
class SaturatedBounds:
    """Removes these bounds from the statistics of a table's files.

    Attributes:
        pattern: Matches a column's bound in the JSON of statistics. `None` if no column can have one.
    """

    pattern: str | None

    def without(self, files: pa.Table) -> pa.Table:
        """Files (rows of `FILE_SCHEMA`) with null, which says nothing, as such a bound."""
        if self.pattern is None:
            return files
        place = files.schema.get_field_index("stats")
        texts = pc.replace_substring_regex(files.column(place), self.pattern, r"\1null\2")
        return files.set_column(place, files.schema.field(place), texts)


@cached_by_text
def saturated_bounds(schema_string: str) -> SaturatedBounds:
    """What removes the bounds from statistics of a table with this schema."""
    names = {
        name
        for field in schema_fields(schema_string)
        if _can_saturate(ColumnType.of(field))
        for name in (field["name"], (field.get("metadata") or {}).get(PHYSICAL_NAME))
        if name is not None
    }
    if not names:
        return SaturatedBounds(None)
    keys = "|".join(re.escape(orjson.dumps(name).decode()) for name in sorted(names))
    # A quotation mark in a text of statistics follows a backslash, and so is not one of these.
    return SaturatedBounds(rf"((?:{keys})\s*:\s*){_BOUND}(\s*[,}}])")


def _can_saturate(column: ColumnType) -> bool:
    return column.family is Family.DECIMAL and can_saturate(column.precision, column.scale)
