"""Values of Arrow types by numbers, and how a Delta log spells them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

_DAY, _MOMENT = date(1969, 12, 30), datetime(1999, 1, 1, 9, 0, 0, 123_000)
_NO_BOUNDS = (pa.types.is_boolean, pa.types.is_binary, pa.types.is_list, pa.types.is_map)


def rows_of(schema: pa.Schema, numbers: Sequence[int | None]) -> list[Row]:
    """A row for each number, `None` for a row of nulls."""
    return [
        {field.name: None if number is None else value_of(field.type, number) for field in schema}
        for number in numbers
    ]


def value_of(kind: pa.DataType, number: int) -> Any:
    """The value of a type for a number; times are whole milliseconds."""
    if pa.types.is_struct(kind):
        return {field.name: value_of(field.type, number) for field in kind}
    if pa.types.is_list(kind):
        return [value_of(kind.value_type, number), None, value_of(kind.value_type, number + 1)]
    if pa.types.is_map(kind):
        return [(value_of(kind.key_type, number), value_of(kind.item_type, number))]
    if pa.types.is_decimal(kind):
        return Decimal(number).scaleb(-kind.scale)
    if pa.types.is_timestamp(kind):
        moment = _MOMENT + number * timedelta(days=31, seconds=7, milliseconds=11)
        return moment.replace(tzinfo=UTC) if kind.tz else moment
    if pa.types.is_boolean(kind):
        return number % 2 == 0
    if pa.types.is_floating(kind):
        return number / 4
    texts = {pa.string(): f"text {number}", pa.binary(): bytes([number % 256, 0, 255])}
    return texts.get(kind, _DAY + timedelta(days=number) if pa.types.is_date(kind) else number)


def partition_text(value: Any) -> str | None:
    """A partition value as the log has it (Delta protocol, "Partition Value Serialization")."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "milliseconds")
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def stats_text(rows: Sequence[Row], kinds: Mapping[str, pa.DataType], *, tight: bool) -> str:
    """Statistics of a file as Spark writes them: no bounds of booleans, binaries, lists and maps."""
    stats = {
        "numRecords": len(rows),
        "minValues": _bounds(rows, kinds, min),
        "maxValues": _bounds(rows, kinds, max),
        "nullCount": _null_counts(rows, kinds),
        "tightBounds": tight,
    }
    return _spelled(stats)


def _bounds(rows: Sequence[Row], kinds: Mapping[str, pa.DataType], choose: Any) -> Row:
    found = {}
    for name, kind in kinds.items():
        present = [value for row in rows if (value := row[name]) is not None]
        if present and not any(unbounded(kind) for unbounded in _NO_BOUNDS):
            nested = pa.types.is_struct(kind) and {field.name: field.type for field in kind}
            found[name] = _bounds(present, nested, choose) if nested else choose(present)
    return found


def _null_counts(rows: Sequence[Row], kinds: Mapping[str, pa.DataType]) -> Row:
    return {
        name: _null_counts([row.get(name) or {} for row in rows], {f.name: f.type for f in kind})
        if pa.types.is_struct(kind)
        else sum(row.get(name) is None for row in rows)
        for name, kind in kinds.items()
    }


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{_spelled(part)}" for name, part in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        zone = "Z" if value.tzinfo else ""
        return f'"{value.replace(tzinfo=None).isoformat(timespec="milliseconds")}{zone}"'
    return f'"{value}"' if isinstance(value, date) else json.dumps(value)
