"""Iceberg tables whose files were made to cost the gateway more than they are worth."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from support.clients.bystander import Watch, watched
from support.gateways.iceberg_sharing import SCHEMA, SHARE, IcebergSharing, iceberg_sharing
from support.gateways.shared_lake import asking
from support.tables.iceberg_by_hand import (
    COLUMNS,
    ENTRY_SCHEMA,
    LIST_SCHEMA,
    HandWritten,
    avro_file,
    avro_row,
    deflated,
    long_text,
)

_SMALL = 100_000_000  # bytes that the process's memory may grow by where nothing large is to be read
_ENDLESS = 1_500_000_000  # bytes of which the attacker stores a thousandth
_LIMIT = 40_000_000  # `limits.table.bytes` of the narrow gateway


class Attacked:
    """A gateway, the attacker's tables, and a bystander with its own."""

    def __init__(self, lake: IcebergSharing) -> None:
        self._lake = lake
        self._attacker = asking(lake.gateway.profile("acme"))
        self._bystander = asking(lake.gateway.profile("leaving"))
        name, _ = lake.table(Schema(NestedField(1, "id", LongType())))
        self._quiet = _path(name)
        self._bystander.post(f"{self._quiet}/query", json={}).raise_for_status()

    def table(self) -> tuple[str, HandWritten]:
        """A table below the endpoint, to write by hand."""
        name, root = self._lake.unwritten()
        return _path(name), HandWritten(root)

    def query(self, path: str) -> httpx.Response:
        return self._attacker.post(f"{path}/query", json={})

    @contextmanager
    def watched(self) -> Iterator[Watch]:
        requests = (
            self._bystander.build_request("POST", f"{self._quiet}/query", json={}),
            self._bystander.build_request("GET", f"{self._lake.gateway.address}/livez"),
        )
        with watched(self._lake.gateway.process.pid, self._bystander, requests) as watch:
            yield watch

    def close(self) -> None:
        self._attacker.close()
        self._bystander.close()


@contextmanager
def _attacked(lake: IcebergSharing) -> Iterator[Attacked]:
    attacked = Attacked(lake)
    try:
        yield attacked
    finally:
        attacked.close()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """With the default limits."""
    with (
        pytest.MonkeyPatch.context() as patch,
        iceberg_sharing(tmp_path_factory.mktemp("attacked"), patch) as lake,
        _attacked(lake) as attacked,
    ):
        yield attacked


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """With lower limits."""
    settings = {"limits": {"table": {"bytes": _LIMIT, "rows": 20_000}}}
    with (
        pytest.MonkeyPatch.context() as patch,
        iceberg_sharing(tmp_path_factory.mktemp("narrow"), patch, settings) as lake,
        _attacked(lake) as attacked,
    ):
        yield attacked


def _path(name: str) -> str:
    return f"/shares/{SHARE}/schemas/{SCHEMA}/tables/{name}"


def refused(attacked: Attacked, path: str, growth: int = _SMALL) -> str:
    """What a query says that is refused at the table's own fault, while the bystander is served."""
    with attacked.watched() as watch:
        answer = attacked.query(path)
    watch.check(growth)
    assert answer.status_code == 400, answer.text[:500]
    assert answer.json()["errorCode"] == "TABLE_UNREADABLE"
    return str(answer.json()["message"])


def test_a_table_written_by_hand_is_served(gateway: Attacked) -> None:
    path, table = gateway.table()
    table.write()
    assert gateway.query(path).status_code == 200


def _endless_text() -> bytes:
    """A block whose one row begins with a text of 1.5 GB."""
    return deflated(b"\0", _ENDLESS, before=long_text(_ENDLESS))


def _endless_path() -> bytes:
    """Likewise, in the file of an entry: status, null for the snapshot, content, and then the path."""
    return deflated(b"\0", _ENDLESS, before=b"\2\0\0" + long_text(_ENDLESS))


def test_a_manifest_list_that_inflates_without_end_is_refused(gateway: Attacked) -> None:
    path, table = gateway.table()
    manifests = avro_file(LIST_SCHEMA, 1, _endless_text())
    assert len(manifests) < 2_000_000
    table.write(manifests=manifests)
    assert "the manifest list 'list.avro'" in refused(gateway, path)


def test_a_manifest_that_inflates_without_end_is_refused(gateway: Attacked) -> None:
    path, table = gateway.table()
    table.write(entries=avro_file(ENTRY_SCHEMA, 1, _endless_path()))
    assert "the manifest 'manifest.avro'" in refused(gateway, path)


def test_metadata_that_inflates_without_end_is_refused(gateway: Attacked) -> None:
    path, table = gateway.table()
    metadata = deflated(b" ", _ENDLESS, before=b"{", gzip=True)
    assert len(metadata) < 2_000_000
    table.write(metadata=metadata, name="1.gz.metadata.json")
    message = refused(gateway, path, 500_000_000)
    assert "the metadata file '1.gz.metadata.json' of the table has more than" in message


def test_very_many_files_are_counted(narrow: Attacked) -> None:
    path, table = narrow.table()
    row = avro_row(ENTRY_SCHEMA, table.entry())
    table.write(entries=avro_file(ENTRY_SCHEMA, 2**60, deflated(row, 100_000_000)))
    message = refused(narrow, path)
    assert "limits.table.rows" in message
    assert "'manifest.avro'" in message


def test_files_that_inflate_are_counted(narrow: Attacked) -> None:
    path, table = narrow.table()
    row = avro_row(ENTRY_SCHEMA, table.entry(file_path=f"{table.location}/data/{'x' * 10_000}"))
    table.write(entries=avro_file(ENTRY_SCHEMA, 2**60, deflated(row, 200_000_000)))
    assert "limits.table.bytes" in refused(narrow, path, _SMALL + _LIMIT)


@pytest.mark.parametrize("characters", [b"[],", b"{},", b"0,", b'"",'])
def test_what_json_becomes_in_memory_is_counted(narrow: Attacked, characters: bytes) -> None:
    path, table = narrow.table()
    metadata = gzip.compress(b"[" + characters * 10_000_000, 1)
    table.write(metadata=metadata, name="1.gz.metadata.json")
    assert "limits.table.bytes" in refused(narrow, path, _SMALL + _LIMIT)


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
def test_avro_that_no_writer_writes_is_refused(gateway: Attacked, manifests: bytes) -> None:
    path, table = gateway.table()
    table.write(manifests=manifests)
    assert "the manifest list 'list.avro' of the Iceberg table is broken" in refused(gateway, path)


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
def test_metadata_that_no_writer_writes_is_refused(gateway: Attacked, members: dict[str, Any]) -> None:
    path, table = gateway.table()
    table.write(metadata=members)
    message = refused(gateway, path)
    assert "the metadata file '1.metadata.json' of the Iceberg table is broken" in message


@pytest.mark.parametrize(
    "metadata",
    [b"[1,2]", b"1", b"", b"null", b'{"a":' * 900 + b"1" + b"}" * 900, b"\x1f\x8b", b"\xff\xfe{"],
)
def test_metadata_that_is_something_else_is_refused(gateway: Attacked, metadata: bytes) -> None:
    path, table = gateway.table()
    table.write(metadata=metadata)
    assert "'1.metadata.json' of the Iceberg table is broken" in refused(gateway, path)


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
    gateway: Attacked, members: dict[str, Any]
) -> None:
    path, table = gateway.table()
    table.write(metadata={"snapshots": [table.snapshot(**members)]})
    assert "'1.metadata.json' of the Iceberg table is broken" in refused(gateway, path)


def test_a_snapshot_that_is_its_own_ancestor_has_an_end(gateway: Attacked) -> None:
    path, table = gateway.table()
    table.write(metadata={"snapshots": [table.snapshot(**{"parent-snapshot-id": 1})]})
    with gateway.watched() as watch:
        assert gateway.query(path).status_code == 200
    watch.check(_SMALL)


@pytest.mark.parametrize("place", ["/../", "/./../", "/metadata/../../"])
@pytest.mark.parametrize("named", ["list", "manifest"])
def test_metadata_that_names_files_of_others_is_refused(
    gateway: Attacked, place: str, named: str
) -> None:
    path, table = gateway.table()
    other = f"{table.location}{place}other/metadata/list.avro"
    table.write(
        metadata={"snapshots": [table.snapshot(**{"manifest-list": other})]} if named == "list" else {},
        manifests=[table.manifest(manifest_path=other)],
    )
    assert "refers to files outside the table's directories" in refused(gateway, path)


@pytest.mark.parametrize(
    "members",
    [{"record_count": -1}, {"file_size_in_bytes": -1}],
)
def test_files_that_cannot_be_are_refused(gateway: Attacked, members: dict[str, Any]) -> None:
    path, table = gateway.table()
    table.write(entries=[table.entry(**members)])
    assert "the manifest 'manifest.avro' of the Iceberg table is broken" in refused(gateway, path)


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
def test_fields_of_other_types_are_refused(gateway: Attacked, name: str, type_: Any) -> None:
    path, table = gateway.table()
    table.write(entries=avro_file(_other(name, type_), 1, b"\2" * 100, codec="null"))
    assert "the manifest 'manifest.avro' of the Iceberg table is broken" in refused(gateway, path)


@pytest.mark.parametrize("columns", ["[1,2]", "{}", '{"fields":[{"id":1,"type":"int"}]}', "[" * 900])
def test_schemas_of_manifests_that_no_writer_writes_are_refused(
    gateway: Attacked, columns: str
) -> None:
    path, table = gateway.table()
    row = avro_row(ENTRY_SCHEMA, table.entry())
    table.write(entries=avro_file(ENTRY_SCHEMA, 1, row, codec="null", columns=columns))
    assert "the manifest 'manifest.avro' of the Iceberg table is broken" in refused(gateway, path)


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
def test_paths_that_no_data_file_has_are_refused(gateway: Attacked, path: str, why: str) -> None:
    table_path, table = gateway.table()
    table.write(entries=[table.entry(file_path=f"{table.location}/{path}")])
    assert why in refused(gateway, table_path)


@pytest.mark.parametrize("path", ["./data/1.parquet", "data//1.parquet", "data/./1.parquet"])
def test_other_names_of_a_path_lead_to_the_file(gateway: Attacked, path: str) -> None:
    table_path, table = gateway.table()
    table.write(entries=[table.entry(file_path=f"{table.location}/{path}", file_size_in_bytes=5)])
    (table.root / "data").mkdir()
    (table.root / "data" / "1.parquet").write_bytes(b"bytes")
    answer = gateway.query(table_path)
    url = json.loads(answer.text.splitlines()[2])["file"]["url"]
    assert httpx.get(url).content == b"bytes"


def _positions(path: str, rows: int) -> bytes:
    """A file of positions, of one data file and always the same one."""
    columns = {
        "file_path": pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), [path]),
        "pos": pa.repeat(pa.scalar(1, pa.int64()), rows),
    }
    buffer = io.BytesIO()
    table = pa.table(columns)
    schema = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])
    pq.write_table(table, buffer, compression="zstd", store_schema=False)
    assert pq.read_schema(io.BytesIO(buffer.getvalue())) == schema
    return buffer.getvalue()


def test_positions_that_take_no_bytes_are_counted(narrow: Attacked) -> None:
    path, table = narrow.table()
    content = _positions(f"{table.location}/data/1.parquet", 10_000_000)
    assert len(content) < 1_000_000
    table.write_deletes(content)
    message = refused(narrow, path, _SMALL + 4 * _LIMIT)
    assert "limits.table.bytes" in message
    assert "the delete file 'deletes'" in message


def test_a_long_path_of_very_many_positions_is_read_once(gateway: Attacked) -> None:
    path, table = gateway.table()
    table.write_deletes(_positions("x" * 1_000_000, 100_000))
    with gateway.watched() as watch:
        assert gateway.query(path).status_code == 200
    watch.check(4 * _SMALL)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"PAR1" + b"\xff" * 50 + b"PAR1", id="a broken footer"),
        pytest.param(b"PAR1" + b"\xff\xff\xff\x7fPAR1", id="a footer of two gigabytes"),
        pytest.param(_positions("x", 100)[:-20] + b"\0" * 20, id="an end that is cut off"),
    ],
)
def test_files_of_positions_that_are_none_are_refused(gateway: Attacked, content: bytes) -> None:
    path, table = gateway.table()
    table.write_deletes(content)
    assert "the delete file 'deletes' of the Iceberg table is broken" in refused(gateway, path)


def test_positions_before_the_first_row_are_refused(gateway: Attacked) -> None:
    path, table = gateway.table()
    buffer = io.BytesIO()
    pq.write_table(pa.table({"file_path": ["x"], "pos": pa.array([-1], pa.int64())}), buffer)
    table.write_deletes(buffer.getvalue())
    assert "the delete file 'deletes' of the Iceberg table is broken" in refused(gateway, path)


def _blob(bitmap: bytes) -> bytes:
    payload = struct.pack("<I", 1681511377) + bitmap
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


def _full(count: int) -> bytes:
    """A bitmap whose 32-bit parts have all bits, in runs (Roaring format specification)."""
    runs = struct.pack("<I", 12347 | 65535 << 16) + b"\xff" * 8192
    runs += b"".join(struct.pack("<HH", key, 65535) for key in range(65536))
    runs += struct.pack("<I", 0) * 65536 + struct.pack("<HHH", 1, 0, 65535) * 65536
    return struct.pack("<Q", count) + b"".join(
        struct.pack("<I", number) + runs for number in range(count)
    )


@pytest.mark.parametrize(
    ("bitmap", "members"),
    [
        pytest.param(b"", {}, id="no bitmap"),
        pytest.param(struct.pack("<Q", 2**63), {}, id="very many parts"),
        pytest.param(struct.pack("<QII", 1, 0, 12346) + b"\xff" * 60, {}, id="a broken part"),
        pytest.param(b"", {"content_offset": -5}, id="before the file"),
        pytest.param(b"", {"content_offset": 2**62}, id="far behind the file"),
        pytest.param(b"", {"content_offset": 20}, id="beyond the end"),
        pytest.param(b"", {"content_size_in_bytes": 0}, id="no size"),
        pytest.param(b"", {"content_size_in_bytes": -1}, id="a negative size"),
        pytest.param(b"", {"content_size_in_bytes": 2**40}, id="a terabyte"),
        pytest.param(b"", {"content_offset": None}, id="no place"),
        pytest.param(b"", {"referenced_data_file": None}, id="no data file"),
    ],
)
def test_vectors_that_no_writer_writes_are_refused(
    gateway: Attacked, bitmap: bytes, members: dict[str, Any]
) -> None:
    path, table = gateway.table()
    refused(gateway, _with_vector(path, table, bitmap, **members))


def test_a_vector_of_very_many_rows_takes_no_more_than_its_file(gateway: Attacked) -> None:
    path, table = gateway.table()
    with gateway.watched() as watch:
        answer = gateway.query(_with_vector(path, table, _full(2)))
    watch.check(_SMALL)
    assert answer.status_code in (200, 400)


def _with_vector(path: str, table: HandWritten, bitmap: bytes, **members: Any) -> str:
    blob = _blob(bitmap)
    place = {"content_offset": 0, "content_size_in_bytes": len(blob)}
    data_file = {"referenced_data_file": f"{table.location}/data/1.parquet"}
    table.write_deletes(blob, file_format="PUFFIN", **{**place, **data_file, **members})
    return path
