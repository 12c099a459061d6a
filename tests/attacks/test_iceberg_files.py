"""Iceberg tables whose files were made to cost the gateway more than they are worth."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
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
    avro_file,
    avro_row,
    deflated,
    long_text,
    repeated_position,
)

_ENDLESS = 1_500_000_000  # bytes of which the attacker stores a thousandth


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedIceberg]:
    """With the default limits."""
    with attacked_iceberg(tmp_path_factory.mktemp("attacked")) as attacked:
        yield attacked


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedIceberg]:
    """With lower limits."""
    with attacked_iceberg(tmp_path_factory.mktemp("narrow"), LOW_LIMITS) as attacked:
        yield attacked


def test_a_table_written_by_hand_is_served(gateway: AttackedIceberg) -> None:
    path, table = gateway.table()
    table.write()
    assert gateway.query(path).status_code == 200


def _endless_text() -> bytes:
    """A block whose one row begins with a text of 1.5 GB."""
    return deflated(b"\0", _ENDLESS, before=long_text(_ENDLESS))


def _endless_path() -> bytes:
    """Likewise, in the file of an entry: status, null for the snapshot, content, and then the path."""
    return deflated(b"\0", _ENDLESS, before=b"\2\0\0" + long_text(_ENDLESS))


def test_a_manifest_list_that_inflates_without_end_is_refused(gateway: AttackedIceberg) -> None:
    path, table = gateway.table()
    manifests = avro_file(LIST_SCHEMA, 1, _endless_text())
    assert len(manifests) < 2_000_000
    table.write(manifests=manifests)
    assert "the manifest list 'list.avro'" in gateway.refused(path)


def test_a_manifest_that_inflates_without_end_is_refused(gateway: AttackedIceberg) -> None:
    path, table = gateway.table()
    table.write(entries=avro_file(ENTRY_SCHEMA, 1, _endless_path()))
    assert "the manifest 'manifest.avro'" in gateway.refused(path)


def test_metadata_that_inflates_without_end_is_refused(gateway: AttackedIceberg) -> None:
    path, table = gateway.table()
    metadata = deflated(b" ", _ENDLESS, before=b"{", gzip=True)
    assert len(metadata) < 2_000_000
    table.write(metadata=metadata, name="1.gz.metadata.json")
    message = gateway.refused(path, 500_000_000)
    assert "the metadata file '1.gz.metadata.json' of the table has more than" in message


def test_very_many_files_are_counted(narrow: AttackedIceberg) -> None:
    path, table = narrow.table()
    row = avro_row(ENTRY_SCHEMA, table.entry())
    table.write(entries=avro_file(ENTRY_SCHEMA, 2**60, deflated(row, 100_000_000)))
    message = narrow.refused(path)
    assert "limits.table.rows" in message
    assert "'manifest.avro'" in message


def test_files_that_inflate_are_counted(narrow: AttackedIceberg) -> None:
    path, table = narrow.table()
    row = avro_row(ENTRY_SCHEMA, table.entry(file_path=f"{table.location}/data/{'x' * 900}"))
    table.write(entries=avro_file(ENTRY_SCHEMA, 2**60, deflated(row, 200_000_000)))
    assert "limits.table.bytes" in narrow.refused(path, SMALL + LOW_BYTES)


@pytest.mark.parametrize("characters", [b"[],", b"{},", b"0,", b'"",'])
def test_what_json_becomes_in_memory_is_counted(narrow: AttackedIceberg, characters: bytes) -> None:
    path, table = narrow.table()
    metadata = gzip.compress(b"[" + characters * 10_000_000, 1)
    table.write(metadata=metadata, name="1.gz.metadata.json")
    assert "limits.table.bytes" in narrow.refused(path, SMALL + LOW_BYTES)


def test_positions_that_take_no_bytes_are_counted(narrow: AttackedIceberg) -> None:
    path, table = narrow.table()
    content = repeated_position(f"{table.location}/data/1.parquet", 10_000_000)
    assert len(content) < 1_000_000
    table.write_deletes(content)
    message = narrow.refused(path, SMALL + 4 * LOW_BYTES)
    assert "limits.table.bytes" in message
    assert "the delete file 'deletes'" in message


def _nothings(items: Any) -> bytes:
    """A file of one row: an array of 2^60 items that take no bytes."""
    schema = {**LIST_SCHEMA, "fields": [{"name": "x", "type": {"type": "array", "items": items}}]}
    return avro_file(schema, 1, b"\x80" * 8 + b"\x20", codec="null")


_EMPTY = {"type": "record", "name": "empty", "fields": []}
_ITSELF = {"type": "record", "name": "itself", "fields": [{"name": "x", "type": "itself"}]}
_DEEP = json.loads('{"type":"array","items":' * 400 + '"int"' + "}" * 400)


@pytest.mark.parametrize(
    "manifests",
    [
        pytest.param(_nothings("null"), id="nulls"),
        pytest.param(_nothings(_EMPTY), id="empty records"),
        pytest.param(_nothings(["null", _ITSELF]), id="items that hold themselves"),
        pytest.param(avro_file(_ITSELF, 1, b"", codec="null"), id="a row that holds itself"),
        pytest.param(avro_file(_EMPTY, 2**60, b"", codec="null"), id="empty rows"),
        pytest.param(avro_file(_DEEP, 1, b"\2" * 500, codec="null"), id="arrays in arrays"),
        pytest.param(avro_file(LIST_SCHEMA, -1, b"", codec="null"), id="less than no rows"),
        pytest.param(avro_file(LIST_SCHEMA, 1, b"x" * 99, codec="bzip2"), id="another codec"),
        pytest.param(avro_file(LIST_SCHEMA, 1, b"\xff" * 99, codec="snappy"), id="a broken block"),
        pytest.param(avro_file("null", 1, b"", codec="null"), id="rows of nothing"),
        pytest.param(avro_file(7, 1, b"", codec="null"), id="no schema"),
        pytest.param(b"Obj\1" + b"\xff" * 30, id="no header"),
    ],
)
def test_avro_that_no_writer_writes_is_refused(gateway: AttackedIceberg, manifests: bytes) -> None:
    path, table = gateway.table()
    table.write(manifests=manifests)
    assert "the manifest list 'list.avro' of the Iceberg table is broken" in gateway.refused(path)


def _column(**members: Any) -> dict[str, Any]:
    return {**COLUMNS, "fields": [{"id": 1, "name": "id", "type": "long", **members}]}


def _nested(levels: int) -> Any:
    type_: Any = "int"
    for _ in range(levels):
        type_ = {"type": "list", "element-id": 2, "element": type_, "element-required": False}
    return type_


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"schemas": [_column(type=_nested(150))]}, id="columns in columns"),
        pytest.param({"schemas": [{**COLUMNS, "fields": [{"id": 1, "type": "int"}]}]}, id="no name"),
        pytest.param({"schemas": [_column(id="1")]}, id="an id that is a text"),
        pytest.param({"schemas": [_column(id=-5)]}, id="a negative id"),
        pytest.param({"schemas": [_column(id=10**30)]}, id="a huge id"),
        pytest.param({"schemas": [_column(name=7)]}, id="a name that is a number"),
        pytest.param({"schemas": [_column(type="decimal(9,999999999)")]}, id="a huge scale"),
        pytest.param({"schemas": [_column(type=["int"])]}, id="a type that is a list"),
        pytest.param({"schemas": {"a": 1}}, id="schemas that are no list"),
        pytest.param({"current-schema-id": "0"}, id="a schema's id that is a text"),
        pytest.param({"current-schema-id": [0]}, id="a schema's id that is a list"),
        pytest.param({"current-snapshot-id": 10**30}, id="a huge snapshot"),
        pytest.param({"current-snapshot-id": {}}, id="a snapshot that is an object"),
        pytest.param({"snapshot-log": [1]}, id="a log of numbers"),
        pytest.param({"snapshot-log": [{"snapshot-id": []}]}, id="a log of lists"),
        pytest.param({"partition-specs": [7]}, id="a partition spec that is a number"),
        pytest.param({"partition-specs": [{"fields": [{}]}]}, id="an empty partition field"),
        pytest.param({"last-updated-ms": 10**18}, id="a time that no calendar has"),
        pytest.param({"table-uuid": 7}, id="a UUID that is a number"),
        pytest.param({"format-version": "two"}, id="a version that is a text"),
        pytest.param({"properties": {"schema.name-mapping.default": 1}}, id="a mapping of a number"),
    ],
)
def test_metadata_that_no_writer_writes_is_refused(
    gateway: AttackedIceberg, members: dict[str, Any]
) -> None:
    path, table = gateway.table()
    table.write(metadata=members)
    message = gateway.refused(path)
    assert "the metadata file '1.metadata.json' of the Iceberg table is broken" in message


@pytest.mark.parametrize(
    "metadata",
    [b"[1,2]", b"1", b"", b"null", b'{"a":' * 900 + b"1" + b"}" * 900, b"\x1f\x8b", b"\xff\xfe{"],
)
def test_metadata_that_is_something_else_is_refused(gateway: AttackedIceberg, metadata: bytes) -> None:
    path, table = gateway.table()
    table.write(metadata=metadata)
    assert "'1.metadata.json' of the Iceberg table is broken" in gateway.refused(path)


@pytest.mark.parametrize(
    "members",
    [
        {"manifest-list": 7},
        {"sequence-number": -1},
        {"sequence-number": 10**30},
        {"timestamp-ms": "now"},
        {"timestamp-ms": 2**62},
        {"snapshot-id": "1"},
        {"schema-id": {}},
        {"parent-snapshot-id": []},
        {"summary": [1]},
        {"manifests": [1]},
    ],
)
def test_snapshots_that_no_writer_writes_are_refused(
    gateway: AttackedIceberg, members: dict[str, Any]
) -> None:
    path, table = gateway.table()
    table.write(metadata={"snapshots": [table.snapshot(**members)]})
    assert "'1.metadata.json' of the Iceberg table is broken" in gateway.refused(path)


def test_a_snapshot_that_is_its_own_ancestor_has_an_end(gateway: AttackedIceberg) -> None:
    path, table = gateway.table()
    table.write(metadata={"snapshots": [table.snapshot(**{"parent-snapshot-id": 1})]})
    with gateway.watched() as watch:
        assert gateway.query(path).status_code == 200
    watch.check(SMALL)


@pytest.mark.parametrize("place", ["/../", "/./../", "/metadata/../../"])
@pytest.mark.parametrize("named", ["list", "manifest"])
def test_metadata_that_names_files_of_others_is_refused(
    gateway: AttackedIceberg, place: str, named: str
) -> None:
    path, table = gateway.table()
    other = f"{table.location}{place}other/metadata/list.avro"
    table.write(
        metadata={"snapshots": [table.snapshot(**{"manifest-list": other})]} if named == "list" else {},
        manifests=[table.manifest(manifest_path=other)],
    )
    assert "refers to files outside the table's directories" in gateway.refused(path)


@pytest.mark.parametrize(
    "members",
    [{"record_count": -1}, {"file_size_in_bytes": -1}],
)
def test_files_that_cannot_be_are_refused(gateway: AttackedIceberg, members: dict[str, Any]) -> None:
    path, table = gateway.table()
    table.write(entries=[table.entry(**members)])
    assert "the manifest 'manifest.avro' of the Iceberg table is broken" in gateway.refused(path)


def _other(name: str, type_: Any) -> dict[str, Any]:
    """The schema of entries with another type of one field."""
    text = json.dumps(ENTRY_SCHEMA)
    old = next(json.dumps(field) for field in _fields(ENTRY_SCHEMA) if field["name"] == name)
    schema: dict[str, Any] = json.loads(text.replace(old, json.dumps({"name": name, "type": type_})))
    return schema


def _fields(schema: Any) -> Iterator[Any]:
    for field in schema["fields"]:
        yield field
        if isinstance(field["type"], dict):
            yield from _fields(field["type"])


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("status", "string"),
        ("snapshot_id", "bytes"),
        ("file_path", "long"),
        ("file_path", "bytes"),
        ("file_path", "null"),
        ("record_count", "string"),
        ("record_count", "null"),
        ("file_size_in_bytes", "double"),
        ("null_value_counts", {"type": "array", "items": "int"}),
        ("null_value_counts", {"type": "map", "values": "long"}),
        ("null_value_counts", "string"),
        ("data_file", "string"),
    ],
)
def test_fields_of_other_types_are_refused(gateway: AttackedIceberg, name: str, type_: Any) -> None:
    path, table = gateway.table()
    table.write(entries=avro_file(_other(name, type_), 1, b"\2" * 100, codec="null"))
    assert "the manifest 'manifest.avro' of the Iceberg table is broken" in gateway.refused(path)


@pytest.mark.parametrize("columns", ["[1,2]", "{}", '{"fields":[{"id":1,"type":"int"}]}', "[" * 900])
def test_schemas_of_manifests_that_no_writer_writes_are_refused(
    gateway: AttackedIceberg, columns: str
) -> None:
    path, table = gateway.table()
    row = avro_row(ENTRY_SCHEMA, table.entry())
    table.write(entries=avro_file(ENTRY_SCHEMA, 1, row, codec="null", columns=columns))
    assert "the manifest 'manifest.avro' of the Iceberg table is broken" in gateway.refused(path)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("metadata/1.metadata.json", "metadata"),
        (".//metadata/./1.metadata.json", "metadata"),
        ("data/../../t0/data/1.parquet", "does not name a file"),
        ("data/", "does not name a file"),
        ("data/a\tb.parquet", "links cannot contain"),
        ("data/a\nb.parquet", "links cannot contain"),
        ("data/a\x7fb.parquet", "links cannot contain"),
        ("data/a.parquet#12", "links cannot contain"),
        (f"data/{'x' * 5000}", "is too long"),
    ],
)
def test_paths_that_no_data_file_has_are_refused(gateway: AttackedIceberg, path: str, why: str) -> None:
    table_path, table = gateway.table()
    table.write(entries=[table.entry(file_path=f"{table.location}/{path}")])
    assert why in gateway.refused(table_path)


@pytest.mark.parametrize("path", ["./data/1.parquet", "data//1.parquet", "data/./1.parquet"])
def test_other_names_of_a_path_lead_to_the_file(gateway: AttackedIceberg, path: str) -> None:
    table_path, table = gateway.table()
    table.write(entries=[table.entry(file_path=f"{table.location}/{path}", file_size_in_bytes=5)])
    (table.root / "data").mkdir()
    (table.root / "data" / "1.parquet").write_bytes(b"bytes")
    answer = gateway.query(table_path)
    url = json.loads(answer.text.splitlines()[2])["file"]["url"]
    assert httpx.get(url).content == b"bytes"
