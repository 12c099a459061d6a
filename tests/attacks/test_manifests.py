"""Manifests of a few kilobytes that would become gigabytes of objects or of columns."""

from __future__ import annotations

import copy
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pyroaring import BitMap64
from support.gateways.attacked_iceberg import (
    LOW_BYTES,
    LOW_LIMITS,
    SMALL,
    AttackedIceberg,
    attacked_iceberg,
)
from support.tables.iceberg_by_hand import (
    COLUMNS,
    ENTRY_SCHEMA,
    LIST_SCHEMA,
    HandWritten,
    avro,
    avro_file,
    avro_row,
    long_text,
)


@pytest.fixture(scope="module")
def low(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedIceberg]:
    """With low limits."""
    with attacked_iceberg(tmp_path_factory.mktemp("low"), LOW_LIMITS) as attacked:
        yield attacked


def _deflated(rows: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(rows) + deflate.flush()


def _item(fields: int, type_: Any) -> dict[str, Any]:
    """A record of one byte, with further fields that take none."""
    others = [{"name": f"n{number}", "type": type_} for number in range(fields)]
    return {"type": "record", "name": "item", "fields": [{"name": "b", "type": "boolean"}, *others]}


_EMPTY = {"type": "record", "name": "empty", "fields": [{"name": "x", "type": "null"}]}


@pytest.mark.parametrize(
    "type_",
    [
        pytest.param({"type": "array", "items": _item(2_000, "null")}, id="nulls"),
        pytest.param({"type": "array", "items": ["null", _item(2_000, "null")]}, id="or nothing"),
        pytest.param(
            {"type": "array", "items": {"type": "record", "name": "outer", "fields": [
                {"name": "first", "type": _EMPTY}, {"name": "inner", "type": _item(2_000, "empty")}
            ]}},
            id="empty records",
        ),
    ],
)  # fmt: skip
def test_fields_without_bytes_take_no_memory(low: AttackedIceberg, type_: Any) -> None:
    path, table = low.table()
    fields = [{"name": "x", "type": type_}, *LIST_SCHEMA["fields"]]
    element = b"\2\0" if isinstance(type_["items"], list) else b"\0"
    many = long_text(20_000) + element * 20_000 + b"\0"
    row = many + avro_row(LIST_SCHEMA, table.manifest())
    manifests = avro_file({**LIST_SCHEMA, "fields": fields}, 1, _deflated(row))
    assert len(manifests) < 150_000
    table.write(manifests=manifests)
    with low.watched() as watch:
        answer = low.query(path)
    watch.check(SMALL)
    assert answer.status_code == 200, answer.text


def test_rows_of_fields_without_bytes_take_no_time(low: AttackedIceberg) -> None:
    path, table = low.table()
    fields = [*LIST_SCHEMA["fields"], *_item(9_000, "null")["fields"]]
    rows = (avro_row(LIST_SCHEMA, table.manifest(manifest_path="")) + b"\0") * 19_000
    table.write(manifests=avro_file({**LIST_SCHEMA, "fields": fields}, 19_000, _deflated(rows)))
    assert "refers to files outside" in low.refused(path)


def _chain(levels: int) -> Any:
    """Records in records around a byte."""
    type_: Any = "boolean"
    for number in range(levels):
        fields = [{"name": "x", "type": type_}]
        type_ = {"type": "record", "name": f"level{number}", "fields": fields}
    return type_


@pytest.mark.parametrize(
    ("name", "items", "element"),
    [
        ("null_value_counts", None, b"\0\0"),
        ("split_offsets", _chain(8), b"\0"),
        ("other", _item(0, "null"), b"\0"),
    ],
)
def test_objects_of_an_entry_are_counted(
    low: AttackedIceberg, name: str, items: Any, element: bytes
) -> None:
    path, table = low.table()
    schema = copy.deepcopy(dict(ENTRY_SCHEMA))
    file = schema["fields"][2]["type"]["fields"]
    if items is not None:
        file[-1] = {"name": name, "type": ["null", {"type": "array", "items": items}]}
    head = avro_row(ENTRY_SCHEMA, table.entry())[:-1] + b"\2" + long_text(1_000_000)
    table.write(entries=avro_file(schema, 1, _deflated(head + element * 1_000_000 + b"\0")))
    assert "limits.table.bytes" in low.refused(path, SMALL + LOW_BYTES)


def _counted(table: HandWritten, entries: int, columns: Mapping[str, Any] = COLUMNS) -> bytes:
    """A manifest with so many entries of the same file, and with the table's schema."""
    row = avro_row(ENTRY_SCHEMA, table.entry(null_value_counts=[{"key": 1, "value": 0}]))
    return avro_file(ENTRY_SCHEMA, entries, _deflated(row * entries), columns=json.dumps(columns))


def test_a_long_name_in_the_statistics_of_each_file_is_counted(low: AttackedIceberg) -> None:
    path, table = low.table()
    column = {"id": 1, "name": "x" * 200_000, "required": False, "type": "long"}
    columns = {**COLUMNS, "fields": [column]}
    table.write(metadata={"schemas": [columns]}, entries=_counted(table, 5_000, columns))
    assert "limits.table.bytes" in low.refused(path, SMALL + LOW_BYTES)


def test_columns_with_one_id_do_not_multiply_a_bound(low: AttackedIceberg) -> None:
    path, table = low.table()
    columns = [
        {"id": 1, "name": f"c{number}", "required": False, "type": "string"} for number in range(1_500)
    ]
    bounds = {"type": "array", "items": {"type": "record", "name": "k126_v127", "fields": [
        {"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}
    ]}}  # fmt: skip
    schema = copy.deepcopy(dict(ENTRY_SCHEMA))
    schema["fields"][2]["type"]["fields"].append({"name": "lower_bounds", "type": bounds})
    entry = table.entry(lower_bounds=[{"key": 1, "value": b"x" * 200_000}])
    table.write(metadata={"schemas": [{**COLUMNS, "fields": columns}]}, entries=avro(schema, [entry]))
    assert "several columns" in low.refused(path, SMALL + LOW_BYTES)


def test_a_vector_of_very_many_entries_is_counted(low: AttackedIceberg) -> None:
    path, table = low.table()
    payload = struct.pack("<I", 1681511377) + bytes(BitMap64(range(0, 70_000, 3)).serialize())
    blob = struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))
    table.write_deletes(
        blob,
        file_format="PUFFIN",
        referenced_data_file=f"{table.location}/data/1.parquet",
        content_offset=0,
        content_size_in_bytes=len(blob),
    )
    (table.root / "metadata" / "manifest.avro").write_bytes(_counted(table, 15_000))
    assert "limits.table.bytes" in low.refused(path, SMALL + LOW_BYTES)
