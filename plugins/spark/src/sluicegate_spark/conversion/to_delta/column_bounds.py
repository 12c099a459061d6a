"""Completes the bounds in statistics, because deltalake misreads incomplete ones.

`to_pandas(filters=…)` and datasets of deltalake 1.6 find no row in a file whose `minValues` or
`maxValues` lack a column of the filter. They read files without these members correctly. Iceberg has
no bounds for columns without metrics, and Delta has no maximum for floating-point columns with NaN. So
a column without a bound gets that of all values of its type. If there is none, all bounds of that side
are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.formats import TableMetadata, is_mapped

# deltalake reads the statistics of so many columns. Partition columns are not among them.
_READ_COLUMNS = 32
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_INTEGERS = {"byte": 7, "short": 15, "integer": 31, "long": 63}  # bits without the sign
_OTHERS: Mapping[str, tuple[str | None, str | None]] = {
    "boolean": ("false", "true"),
    # NaN is greater than infinity.
    "float": ('"-Infinity"', None),
    "double": ('"-Infinity"', None),
    # No text begins with the last character of Unicode.
    "string": ('""', '"\U0010ffff"'),
    # Iceberg's years are not limited.
    "date": (None, None),
    "timestamp": (None, None),
    "timestamp_ntz": (None, None),
}


class _Number(str):
    """A number of JSON as it is written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Completes the statistics of a table.

    Attributes:
        ranges: The least and the greatest value of columns as JSON, `None` if there is none.
    """

    ranges: Mapping[str, tuple[str | None, str | None]]

    @classmethod
    def of(cls, metadata: TableMetadata) -> ColumnBounds:
        """Return the bounds of a table's columns by their names in statistics."""
        mapped = is_mapped(metadata)
        fields = [
            field
            for field in orjson.loads(metadata.schema_string)["fields"]
            if field["name"] not in metadata.partition_columns
        ]
        found = {}
        for field in fields[:_READ_COLUMNS]:
            names = field["metadata"] if mapped else {}
            name = names.get("delta.columnMapping.physicalName", field["name"])
            if (range_ := _range(field["type"])) is not None:
                found[name] = range_
        return cls(found)

    def complete(self, stats: str) -> str:
        """Return statistics with complete bounds on each side, or with none."""
        values = json.loads(stats, parse_int=_Number, parse_float=_Number)
        records, nulls = values.get("numRecords"), values.get("nullCount", {})
        wanted = [name for name in self.ranges if name not in nulls or nulls[name] != records]
        written = {}
        for name, value in values.items():
            if name not in ("minValues", "maxValues"):
                written[name] = value
                continue
            side = int(name == "maxValues")
            bounds = {**value, **self._missing(value, wanted, side)}
            if value and None not in bounds.values():
                written[name] = bounds
        return _dumps(written)

    def _missing(
        self, bounds: Mapping[str, Any], wanted: list[str], side: int
    ) -> dict[str, _Number | None]:
        of_types = {name: self.ranges[name][side] for name in wanted if name not in bounds}
        return {name: None if text is None else _Number(text) for name, text in of_types.items()}


def _range(type_: Any) -> tuple[str | None, str | None] | None:
    """Return the least and the greatest value of a type, or `None` if it has no bounds in Delta."""
    if not isinstance(type_, str):
        return None
    if (bits := _INTEGERS.get(type_)) is not None:
        return str(-(1 << bits)), str((1 << bits) - 1)
    if match := _DECIMAL.fullmatch(type_):
        precision, scale = int(match[1]), int(match[2])
        most = f"{'9' * (precision - scale) or '0'}{'.' if scale else ''}{'9' * scale}"
        return f"-{most}", most
    return _OTHERS.get(type_)


def _dumps(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        members = (f"{orjson.dumps(key).decode()}:{_dumps(each)}" for key, each in value.items())
        return f"{{{','.join(members)}}}"
    return orjson.dumps(value).decode()
