"""Writes the demo's tables as Delta tables, with the rows that each version must return."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import ConfigurationError

_ORDERS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("day", pa.date32()),
        pa.field("customer", pa.string()),
        pa.field("amount", pa.decimal128(10, 2)),
        pa.field("status", pa.string()),
        pa.field("country", pa.string()),
    ]
)
_COUNTRIES = ("DE", "FR", "JP")
_CUSTOMERS = ("Ada", "Blaise", "Chiyo", "Dorothea", "Émilie")
_STATUSES = ("paid", "shipped", "cancelled", "paid")
_ORDERS_A_BATCH = 8


def orders(batch: int) -> pa.Table:
    """The orders of one batch; batches are counted from 1."""
    first = (batch - 1) * _ORDERS_A_BATCH + 1
    return pa.Table.from_pylist(
        [_order(number) for number in range(first, first + _ORDERS_A_BATCH)], _ORDERS
    )


def _order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "day": date(2026, 1, 1) + timedelta(days=number // 3),
        "customer": _CUSTOMERS[number % len(_CUSTOMERS)],
        "amount": Decimal(number * 1795 % 100_000) / 100,
        "status": _STATUSES[number % len(_STATUSES)],
        "country": _COUNTRIES[number % len(_COUNTRIES)],
    }


_POINT = pa.struct([pa.field("x", pa.float64()), pa.field("y", pa.float64())])
_TYPES = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("a_byte", pa.int8()),
        pa.field("a_short", pa.int16()),
        pa.field("an_integer", pa.int32()),
        pa.field("a_long", pa.int64()),
        pa.field("a_float", pa.float32()),
        pa.field("a_double", pa.float64()),
        pa.field("a_decimal", pa.decimal128(38, 18)),
        pa.field("a_boolean", pa.bool_()),
        pa.field("a_string", pa.string()),
        pa.field("a_binary", pa.binary()),
        pa.field("a_date", pa.date32()),
        pa.field("a_timestamp", pa.timestamp("us", "UTC")),
        pa.field("a_timestamp_ntz", pa.timestamp("us")),
        pa.field("an_array", pa.list_(pa.int32())),
        pa.field("a_map", pa.map_(pa.string(), pa.int64())),
        pa.field("a_struct", pa.struct([pa.field("label", pa.string()), pa.field("at", _POINT)])),
        pa.field("points", pa.list_(_POINT)),
    ]
)
# pandas stores integers in columns with nulls as doubles, which are exact up to this value.
_EXACT = 2**53 - 1


def types() -> pa.Table:
    """The smallest values, the largest, and nulls, with a column for each type of the protocol."""
    return pa.Table.from_pylist([_smallest(), _largest(), {"name": "nulls"}], _TYPES)


def _smallest() -> dict[str, Any]:
    return {
        "name": "smallest",
        "a_byte": -(2**7),
        "a_short": -(2**15),
        "an_integer": -(2**31),
        "a_long": -_EXACT,
        "a_float": -(2.0**100),
        "a_double": -1.7976931348623157e308,
        "a_decimal": Decimal("-99999999999999999999.999999999999999999"),
        "a_boolean": False,
        "a_string": "",
        "a_binary": b"",
        "a_date": date(1, 1, 1),
        "a_timestamp": datetime(1900, 1, 1, tzinfo=UTC),
        "a_timestamp_ntz": datetime(1900, 1, 1),
        "an_array": [],
        "a_map": [],
        "a_struct": {"label": "", "at": None},
        "points": [None],
    }


def _largest() -> dict[str, Any]:
    return {
        "name": "largest",
        "a_byte": 2**7 - 1,
        "a_short": 2**15 - 1,
        "an_integer": 2**31 - 1,
        "a_long": _EXACT,
        "a_float": 2.0**100,
        "a_double": 1.7976931348623157e308,
        "a_decimal": Decimal("99999999999999999999.999999999999999999"),
        "a_boolean": True,
        "a_string": "Schleuse, écluse, 水門, 🌊",
        "a_binary": bytes(range(256)),
        "a_date": date(9999, 12, 31),
        "a_timestamp": datetime(2200, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        "a_timestamp_ntz": datetime(2200, 12, 31, 23, 59, 59, 999_999),
        "an_array": [1, None, 3],
        "a_map": [("one", 1), ("none", None)],
        "a_struct": {"label": "corner", "at": {"x": 1.5, "y": -1.5}},
        "points": [{"x": 0.0, "y": None}, {"x": 1.0, "y": 2.0}],
    }


_READINGS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("sensor", pa.string()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("celsius", pa.float64()),
    ]
)


def readings(count: int) -> pa.Table:
    """Return `count` readings of a few sensors, one per minute."""
    start, numbers = datetime(2026, 1, 1, tzinfo=UTC), range(count)
    return pa.table(
        [
            pa.array(numbers, pa.int64()),
            [f"sensor-{number % 7}" for number in numbers],
            [start + timedelta(minutes=number) for number in numbers],
            [round(12 + 9 * math.sin(number / 229), 2) for number in numbers],
        ],
        schema=_READINGS,
    )


# Time travel distinguishes versions by the modification times of their files, which some file systems
# round.
_BETWEEN_VERSIONS = 0.02


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table."""

    rows: pa.Table
    at: datetime


@dataclass(frozen=True, slots=True)
class DemoTable:
    """A written table: its name, a short description, and its versions, starting with 0."""

    name: str
    about: str
    versions: tuple[TableVersion, ...]


def write_tables(folder: Path) -> Iterator[DemoTable]:
    """Write the three tables into subfolders that have their names."""
    try:
        import deltalake  # noqa: F401
    except ImportError as error:
        raise missing_library("deltalake") from error
    for name, about, write in (
        ("orders", "partitioned by country, four versions", _write_orders),
        ("types", "nested, and every primitive type", _write_types),
        ("readings", "ten thousand rows", _write_readings),
    ):
        yield DemoTable(name, about, tuple(write(folder / name)))


def missing_library(name: str) -> ConfigurationError:
    """The error for a package that the demo needs and that is not installed."""
    return ConfigurationError(
        f"the demo needs the Python package {name}, which is not installed: "
        "pip install 'sluicegate[demo]'"
    )


def _write_orders(location: Path) -> Iterator[TableVersion]:
    """Append, append, delete some rows, append."""
    from deltalake import DeltaTable, write_deltalake

    def append(rows: pa.Table) -> None:
        write_deltalake(location, rows, mode="append", partition_by=["country"])

    rows = orders(1)
    yield _committed(rows, lambda: append(rows))
    more = orders(2)
    yield _committed(pa.concat_tables([rows, more]), lambda: append(more))
    kept = pa.concat_tables([rows, more]).filter(pc.field("status") != "cancelled")
    yield _committed(kept, lambda: DeltaTable(location).delete("status = 'cancelled'"))
    last = orders(3)
    yield _committed(pa.concat_tables([kept, last]), lambda: append(last))


def _write_types(location: Path) -> Iterator[TableVersion]:
    yield _created(location, types())


def _write_readings(location: Path) -> Iterator[TableVersion]:
    yield _created(location, readings(10_000))


def _created(location: Path, rows: pa.Table) -> TableVersion:
    from deltalake import write_deltalake

    return _committed(rows, lambda: write_deltalake(location, rows))


def _committed(rows: pa.Table, commit: Callable[[], object]) -> TableVersion:
    commit()
    time.sleep(_BETWEEN_VERSIONS)
    at = datetime.now(UTC)
    time.sleep(_BETWEEN_VERSIONS)
    return TableVersion(rows, at)
