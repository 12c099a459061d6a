"""How schemas of Iceberg are declared, and what is refused: tables of cases without a table."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sluicegate.api import UnsupportedOperation
from sluicegate_iceberg.format.manifests.bounds import metrics_of, stats_text
from sluicegate_iceberg.format.metadata.schema import Struct, parse_struct
from sluicegate_iceberg.format.metadata.shape import Shape, shape_of

LIST = {"type": "list", "element-id": 20, "element": "int", "element-required": True}


def field(id_: int, name: str, type_: Any = "long", **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": name, "type": type_, "required": False, **more}


def schema(*fields: dict[str, Any]) -> Struct:
    return parse_struct({"type": "struct", "fields": list(fields)})


def shape(now: Struct, *history: Struct, known: bool = True) -> Shape:
    return shape_of(now, [now, *history], known=known)


def declared(text: str | None) -> dict[str, Any]:
    assert text is not None
    return {item["name"]: item["type"] for item in orjson.loads(text)["fields"]}


@pytest.mark.parametrize(
    ("type_", "parquet", "delta"),
    [
        ("int", "integer", "integer"),
        ("decimal(9, 2)", "decimal(9,2)", "decimal(9,2)"),
        ("timestamptz", "timestamp", "timestamp"),
        ("timestamptz_ns", "timestamp", "timestamp"),
        ("timestamp", "timestamp", "timestamp_ntz"),
        ("timestamp_ns", "timestamp", "timestamp_ntz"),
        ("uuid", "binary", None),
        ("fixed[16]", "binary", None),
        ("time", None, None),
        (
            LIST,
            {"type": "array", "elementType": "integer", "containsNull": True},
            {"type": "array", "elementType": "integer", "containsNull": True},
        ),
        ({**LIST, "element": "time"}, None, None),
        (
            {"type": "map", "key-id": 8, "key": "string", "value-id": 9, "value": "uuid"},
            {
                "type": "map",
                "keyType": "string",
                "valueType": "binary",
                "valueContainsNull": True,
            },
            None,
        ),
    ],
)
def test_types_by_response_format(type_: Any, parquet: Any, delta: Any) -> None:
    found = shape(schema(field(1, "id"), field(2, "c", type_)))
    assert declared(found.parquet_schema).get("c") == parquet
    assert declared(found.delta_schema).get("c") == delta


@pytest.mark.parametrize("type_", ["variant", "geometry(srid:4326)", "unknown"])
def test_types_without_a_counterpart_are_refused(type_: str) -> None:
    with pytest.raises(UnsupportedOperation, match="which Delta Sharing cannot represent"):
        shape(schema(field(1, "id"), field(2, "c", type_)))


@pytest.mark.parametrize(
    ("now", "history", "known", "by_name"),
    [
        ([field(1, "a")], [], True, True),
        ([field(1, "a")], [field(1, "a", "int")], True, True),
        ([field(1, "b")], [field(1, "a")], True, False),
        ([field(2, "a")], [field(1, "a")], True, False),
        ([field(2, "A")], [field(1, "a")], True, False),
        ([field(1, "a")], [field(1, "A")], True, False),
        ([field(1, "a")], [], False, False),
        ([field(1, "a b")], [], True, False),
        ([field(1, "1a")], [], True, False),
    ],
)
def test_names_are_used_only_if_they_always_meant_the_same(
    now: list[dict[str, Any]], history: list[dict[str, Any]], known: bool, by_name: bool
) -> None:
    found = shape(schema(*now), schema(*history), known=known)
    assert found.by_name == by_name
    assert (found.parquet_schema is not None) == by_name
    assert ("columnMapping" in found.features) != by_name
    physical = orjson.loads(found.delta_schema)["fields"][0]["metadata"]
    id_ = now[0]["id"]
    mapping = {"delta.columnMapping.id": id_, "delta.columnMapping.physicalName": f"col-{id_}"}
    assert physical == ({} if by_name else mapping)


@pytest.mark.parametrize(
    ("now", "history", "message"),
    [
        ([field(1, "a"), field(2, "A")], [], "differ only in case"),
        ([field(1, "a"), field(2, "b", **{"initial-default": 7})], [field(1, "a")], "a default"),
        ([field(1, "t", "time")], [], "no column"),
        ([field(1, "d", "timestamp")], [field(1, "d", "date")], "changed from date to timestamp"),
        ([field(1, "d", "timestamp_ns")], [field(1, "d", "date")], "changed from date to timestamp"),
        (
            [field(1, "d", {**LIST, "element": "timestamp"})],
            [field(1, "d", {**LIST, "element": "date"})],
            "changed from date to timestamp",
        ),
    ],
)
def test_what_no_shape_can_say_is_refused(
    now: list[dict[str, Any]], history: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(UnsupportedOperation, match=message):
        shape(schema(*now), schema(*history))


@pytest.mark.parametrize(
    ("type_", "lower", "upper", "minimum", "maximum"),
    [
        ("long", b"\xfe\xff\xff\xff", b"\x03\x00\x00\x00", -2, 3),
        ("double", b"\x00\x00\x00?", b"\x00\x00\x80?", 0.5, None),
        ("decimal(9, 2)", b"\xff\x9c", b"\x01", -1.0, 0.01),
        ("date", b"\xff\xff\xff\xff", b"\x01\x00\x00\x00", "1969-12-31", "1970-01-02"),
        ("string", b"a\xc3\xbc", b"\xff", "aü", None),
        (
            "timestamptz",
            (1).to_bytes(8, "little"),
            (1).to_bytes(8, "little"),
            "1970-01-01T00:00:00.000Z",
            "1970-01-01T00:00:00.001Z",
        ),
        (
            "timestamp",
            (-1).to_bytes(8, "little", signed=True),
            (2**62).to_bytes(8, "little"),
            "1969-12-31T23:59:59.999",
            None,
        ),
        # Of a file that held dates.
        ("timestamp", b"\x01\x4d\x00\x00", b"\x02\x4d\x00\x00", None, None),
        ("binary", b"a", b"b", None, None),
        ("boolean", b"\x00", b"\x01", None, None),
    ],
)
def test_bounds_are_returned_where_they_are_exactly_valid(
    type_: str, lower: bytes, upper: bytes, minimum: Any, maximum: Any
) -> None:
    columns = schema(field(1, "c", type_)).fields
    file = {
        "record_count": 5,
        "null_value_counts": [{"key": 1, "value": 2}],
        "lower_bounds": [{"key": 1, "value": lower}],
        "upper_bounds": [{"key": 1, "value": upper}],
    }
    stats = orjson.loads(stats_text(file, metrics_of(columns, lambda column: column.name)))
    assert stats == {
        "numRecords": 5,
        "tightBounds": False,
        "minValues": {} if minimum is None else {"c": minimum},
        "maxValues": {} if maximum is None else {"c": maximum},
        "nullCount": {"c": 2},
    }


def test_floating_point_has_a_maximum_where_no_value_is_nan() -> None:
    columns = schema(field(1, "c", "float")).fields
    file = {
        "record_count": 1,
        "nan_value_counts": [{"key": 1, "value": 0}],
        "upper_bounds": [{"key": 1, "value": b"\x00\x00\x80?"}],
    }
    stats = orjson.loads(stats_text(file, metrics_of(columns, lambda column: column.name)))
    assert stats["maxValues"] == {"c": 1.0}
