"""Known value ranges of a column in many files or partitions, as Arrow columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, cast

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.lru import cached_by_text
from sluicegate.tables.column_mapping import PHYSICAL_NAME
from sluicegate.tables.derived_columns import DerivedColumns
from sluicegate.tables.features import schema_fields
from sluicegate.tables.packed import PackedTexts
from sluicegate.tables.predicates.columns import ColumnType, Family, TableColumn
from sluicegate.tables.predicates.values import can_saturate, maximum, partition_span, statistics_span

_Row = tuple[Any, Any, bool, bool]
_MISSING = object()
_DOUBLE_PRECISION = 15  # decimals of this many digits keep their value when they are read as doubles


@dataclass(frozen=True, slots=True)
class Bounds:
    """For each file or partition, the range of a column's values.

    Attributes:
        has_nan: Whether a value can be NaN even if `high` does not include it.
    """

    low: pa.Array
    high: pa.Array
    has_null: pa.BooleanArray
    has_value: pa.BooleanArray
    has_nan: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the columns hold."""
        return sum(int(each.nbytes) for each in (self.low, self.high, self.has_null, self.has_value))

    @classmethod
    def of(cls, column: TableColumn, rows: Sequence[_Row]) -> Bounds:
        """Turn rows into columns."""
        columns = zip(*rows, strict=True) if rows else ((), (), (), ())
        domain = column.type.domain
        types = (domain, domain, pa.bool_(), pa.bool_())
        arrays = [pa.array(values, type) for values, type in zip(columns, types, strict=True)]
        return cls.of_columns(column, *arrays)

    @classmethod
    def of_columns(
        cls,
        column: TableColumn,
        low: pa.Array,
        high: pa.Array,
        has_null: pa.BooleanArray,
        has_value: pa.BooleanArray,
    ) -> Bounds:
        """The bounds of a column that these Arrow columns contain."""
        has_nan = column.type.family is Family.FLOAT and not column.is_partition
        return cls(low, high, has_null, has_value, has_nan)

    @classmethod
    def unknown(cls, column: TableColumn, count: int) -> Bounds:
        """Bounds of which nothing is known."""
        missing = pa.nulls(count, column.type.domain)
        possible = pa.array([True] * count, pa.bool_())
        return cls.of_columns(column, missing, missing, possible, possible)


def partition_bounds(
    derived: DerivedColumns, partitions: pa.StringArray, columns: Sequence[TableColumn]
) -> list[Bounds]:
    """The values of partition columns."""
    return derived.get(partitions, columns, partial(_derive, partitions, orjson.loads, _partition))


def file_bounds(
    derived: DerivedColumns, stats: PackedTexts, columns: Sequence[TableColumn]
) -> list[Bounds]:
    """The bounds of data columns, read from statistics.

    For files with deletion vectors they can be wider than the values, which does no harm here.
    """
    exact = any(column.type.precision > _DOUBLE_PRECISION for column in columns)
    loads = _loads_exactly if exact else orjson.loads
    return derived.get(stats, columns, partial(_derive, stats, loads, _statistics))


def _derive(
    texts: pa.StringArray | PackedTexts,
    loads: Callable[[str], Any],
    read: Callable[[TableColumn, Any], _Row],
    columns: Iterable[Any],
) -> list[Bounds]:
    wanted = cast("list[TableColumn]", list(columns))
    rows: list[list[_Row]] = [[] for _ in wanted]
    for text in texts.to_pylist():
        document = _document(text, loads)
        for column, found in zip(wanted, rows, strict=True):
            found.append(read(column, document))
    return [Bounds.of(column, found) for column, found in zip(wanted, rows, strict=True)]


def _document(text: str | None, loads: Callable[[str], Any]) -> Any:
    try:
        return None if text is None else loads(text)
    except (ValueError, RecursionError):
        return None


_loads_exactly = partial(json.loads, parse_float=Decimal)


def _partition(column: TableColumn, values: Any) -> _Row:
    text = _at(values, column.path, missing=_MISSING)
    if text is None or text == "":
        return None, None, True, False
    span = partition_span(column.type, text) if isinstance(text, str) else None
    low, high = span or (None, None)
    return low, high, text is _MISSING, True


def _statistics(column: TableColumn, stats: Any) -> _Row:
    """The bounds in statistics. Null counts are significant only if all values are null, or none."""
    records = _at(stats, ("numRecords",))
    nulls = _at(stats, ("nullCount", *column.path))
    has_null = not (type(nulls) is int and nulls == 0)
    has_value = not (type(nulls) is int and type(records) is int and nulls == records)
    least = statistics_span(column.type, _at(stats, ("minValues", *column.path)))
    low = None if least is None else least[0]
    high = maximum(column.type, _at(stats, ("maxValues", *column.path)))
    if low is not None and high is not None and low > high:
        low = high = None  # cannot be valid statistics of a file
    return low, high, has_null, has_value


def _at(document: Any, path: Sequence[str], missing: object = None) -> Any:
    try:
        for name in path:
            document = document[name]
    except (KeyError, TypeError):
        return missing
    return document


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
