"""Parquet checkpoints of a few kilobytes that would become gigabytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.gateways.attacked import LOW_BYTES, Attacked
from support.gateways.shared_lake import LakeTable
from support.tables.deltalog import ADD, OTHERS, add, metadata, protocol
from support.tables.parquet_footers import contradicted, nested_schema, of_footer, wide_schema

_MB = 1_000_000
SMALL = 100 * _MB
BATCH = 300 * _MB  # a batch of 64 MiB, as columns and as what is made of them
_TEXT = "x" * _MB
_VECTOR = {"storageType": "u", "offset": 1, "sizeInBytes": 1, "cardinality": 1}


def query(attacked: Attacked, table: LakeTable) -> httpx.Response:
    """What the attacker's own query of its table is answered with."""
    return attacked.attacker.post(f"{table.path()}/query", json={})


def refusal(attacked: Attacked, table: LakeTable, growth: int) -> str:
    """The message of a query of a table that cannot be read, while the bystander is served."""
    with attacked.watched() as watch:
        answer = query(attacked, table)
    watch.check(growth=growth)
    assert answer.status_code == 400, answer.text[:500]
    assert answer.json()["errorCode"] == "TABLE_UNREADABLE"
    return str(answer.json()["message"])


def checkpointed(attacked: Attacked) -> tuple[LakeTable, Path]:
    """A table whose log is one checkpoint, and the path of that."""
    table = attacked.lake.table()
    table.folder.log.mkdir(parents=True)
    return table, table.folder.log / f"{1:020}.checkpoint.parquet"


def write(path: Path, adds: pa.StructArray, **options: Any) -> int:
    """Write a checkpoint of these adds, and its size."""
    head = pa.Table.from_pylist([_row(protocol()), _row(metadata())], _schema(adds.type))
    columns = [
        adds if name == "add" else pa.nulls(len(adds), field) for name, field in _fields(adds.type)
    ]
    table = pa.concat_tables([head, pa.table(columns, schema=head.schema)])
    pq.write_table(table, path, **{"compression": "zstd", **options})
    return path.stat().st_size


def _fields(add_type: pa.DataType) -> Sequence[tuple[str, pa.DataType]]:
    return [*OTHERS.items(), ("add", add_type)]


def _schema(add_type: pa.DataType) -> pa.Schema:
    return pa.schema(_fields(add_type))


def _row(action: dict[str, Any]) -> dict[str, Any]:
    """An action with its maps as pairs."""
    return {
        kind: {
            key: list(each.items()) if key == "configuration" else each
            for key, each in value.items()
            if key != "format"
        }
        for kind, value in action.items()
    }


def _adds(rows: int, **values: Any) -> pa.StructArray:
    """The same add so many times."""
    one = {**add("a.parquet")["add"], "partitionValues": [], **values}
    array = pa.array([one], pa.struct(ADD))
    return array.take(pa.array([0] * rows, pa.int32()))


@pytest.mark.parametrize(
    "values",
    [
        {"stats": _TEXT},
        {"partitionValues": [("p", _TEXT)]},
        {"tags": [("t", _TEXT)]},
        {"deletionVector": {**_VECTOR, "pathOrInlineDv": _TEXT}},
    ],
    ids=lambda values: next(iter(values)),
)
def test_a_text_that_a_dictionary_repeats_ends_at_the_limit(
    limited: Attacked, values: dict[str, Any]
) -> None:
    table, path = checkpointed(limited)
    assert write(path, _adds(600, **values)) < 100_000  # bytes that become 600 MB
    message = refusal(limited, table, LOW_BYTES + BATCH)
    assert f"{LOW_BYTES} bytes" in message
    assert path.name in message


def test_twenty_million_rows_are_counted_by_the_footer(attacked: Attacked) -> None:
    table, path = checkpointed(attacked)
    schema = pa.schema({"add": pa.struct({"path": pa.string(), "size": pa.int64()})})
    group = pa.table([pa.nulls(1_000_000, schema.field("add").type)], schema=schema)
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(20):
            writer.write_table(group)
    assert path.stat().st_size < _MB
    assert "10000000 entries" in refusal(attacked, table, SMALL)


@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": False},
        {"use_dictionary": False, "column_encoding": {"add.stats": "DELTA_BYTE_ARRAY"}},
        {"dictionary_pagesize_limit": 1_000_000_000},
        {"use_dictionary": False, "compression": "gzip", "data_page_version": "2.0"},
    ],
    ids=["plain", "prefixes", "one dictionary", "gzip"],
)
def test_compressed_pages_end_at_the_limit(limited: Attacked, options: dict[str, Any]) -> None:
    table, path = checkpointed(limited)
    texts = [f"{number}{'x' * 10 * _MB}" for number in range(12)]
    adds = [{**add("a.parquet")["add"], "partitionValues": [], "stats": text} for text in texts]
    assert write(path, pa.array(adds, pa.struct(ADD)), **options) < 500_000
    assert f"{LOW_BYTES} bytes" in refusal(limited, table, LOW_BYTES + BATCH)


@pytest.mark.parametrize("levels", [101, 10_000, 300_000])
def test_a_schema_that_overflows_the_stack_is_not_decoded(attacked: Attacked, levels: int) -> None:
    table, path = checkpointed(attacked)
    path.write_bytes(nested_schema(levels))
    assert f"{path.name} is damaged" in refusal(attacked, table, SMALL)


def test_field_numbers_beyond_16_bits_end_a_footer(attacked: Attacked) -> None:
    table, path = checkpointed(attacked)
    path.write_bytes(of_footer(b"\xf1" * _MB))
    assert f"{path.name} is damaged" in refusal(attacked, table, SMALL)


def test_columns_of_few_bytes_are_counted_before_arrow_reads_them(limited: Attacked) -> None:
    table, path = checkpointed(limited)
    path.write_bytes(wide_schema(150_000))
    assert f"{LOW_BYTES} bytes" in refusal(limited, table, SMALL)


def test_size_statistics_that_contradict_the_schema_do_not_end_the_process(attacked: Attacked) -> None:
    table, path = checkpointed(attacked)
    write(path, _adds(2, stats="{}"))
    path.write_bytes(contradicted(path.read_bytes()))
    with attacked.watched() as watch:
        answer = query(attacked, table)
    watch.check(growth=SMALL)
    assert answer.status_code in (200, 400), answer.text[:500]


def padded_footer(attacked: Attacked, size: int) -> tuple[LakeTable, Path]:
    """A checkpoint that Arrow reads, whose footer has a little more than so many bytes."""
    table, path = checkpointed(attacked)
    table.folder.parquet(path.name, [protocol(), metadata(), add("a.parquet")])
    actions = pq.read_table(path)
    with pq.ParquetWriter(path, actions.schema) as writer:
        writer.write_table(actions)
        writer.add_key_value_metadata({"padding": "x" * size})
    assert size < pq.read_metadata(path).serialized_size < size + _MB
    return table, path


def test_a_footer_of_more_than_16_mebibytes_is_not_read(attacked: Attacked) -> None:
    table, path = padded_footer(attacked, 17 * _MB)
    assert f"{path.name} is damaged" in refusal(attacked, table, SMALL)
    table, _ = padded_footer(attacked, 15 * _MB)
    assert query(attacked, table).status_code == 200


def test_a_footer_that_is_longer_than_its_file_is_not_read(attacked: Attacked) -> None:
    table, path = checkpointed(attacked)
    path.write_bytes(b"PAR1" + struct.pack("<I4s", 0xFFFF_FFFF, b"PAR1"))
    assert f"{path.name} is damaged" in refusal(attacked, table, SMALL)


def test_a_sidecar_stays_in_its_directory(attacked: Attacked) -> None:
    for name in ("..%2F..%2Fother.parquet", "%2e%2e", "a%09b", "", "x" * 5000):
        table = attacked.lake.table()
        sidecar = {"sidecar": {"path": name, "sizeInBytes": 10, "modificationTime": 1}}
        actions = [protocol(3, "v2Checkpoint"), metadata(), sidecar]
        table.folder.lines(f"{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", actions)
        assert "sidecar" in refusal(attacked, table, SMALL)


def test_a_sidecar_that_lies_about_its_size_is_read_as_what_it_is(attacked: Attacked) -> None:
    table = attacked.lake.table()
    (sidecar,) = table.folder.sidecars([add("a.parquet")])
    sidecar["sidecar"]["sizeInBytes"] = 10**15
    table.folder.lines(
        f"{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        [protocol(3, "v2Checkpoint"), metadata(), sidecar],
    )
    assert query(attacked, table).status_code == 200
