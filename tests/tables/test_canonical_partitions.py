"""Partition values in one form per type, in whatever form the log has them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
import pytest

from sluicegate.tables.canonical_partitions import CanonicalPartitions, canonical_partitions
from sluicegate.tables.snapshot import TableMetadata

# For each type, forms of one value, of which the first is the one that leaves.
SAME: Mapping[str, tuple[str, ...]] = {
    "boolean": ("true", "TRUE", "True", " t", "yes", "1"),
    "integer": ("-7", "-07", "-7.0", " -7 ", "-7."),
    "long": ("0", "-0", "+0", "00"),
    "double": ("10000000000.0", "1E10", "1.0E10", "10000000000"),
    "float": ("Infinity", "inf", "+Infinity", "INF"),
    "decimal(10,2)": ("1.00", "1", "1.0", "1.000", "+1.00", "100E-2", " 1"),
    "decimal(12,10)": ("0.0000000000", "0", "0E-10", "-0"),
    "decimal(5,0)": ("-12", "-12.0", "-012"),
    "date": ("2026-01-05", "2026-1-5", "2026-01-05 12:00:00", "2026-01-05T00:00:00Z"),
    "timestamp": (
        "2026-01-31T23:30:00.000000Z",
        "2026-01-31 23:30:00",
        "2026-01-31 23:30",
        "2026-01-31T23:30:00",
        "2026-01-31 23:30:00.000 UTC",
        "2026-02-01T00:30:00+01:00",
        "2026-01-31 18:00:00.0000000-0530",
    ),
    "timestamp_ntz": ("2026-01-31 00:00:00", "2026-01-31", "2026-01-31T00:00:00.000Z"),
}
# Texts that are not values of their types, or that only some clients could read.
OTHERS = {
    "boolean": "maybe",
    "integer": "7.5",
    "long": "9" * 30,
    "short": "7E0",
    "double": "1_0",
    "decimal(10,2)": "1.005",
    "date": "20260105",
    "timestamp": "2026-01-31 23:30:00 Europe/Berlin",
    "timestamp_ntz": "2026-13-31 00:00:00",
    "string": " TRUE ",
    "binary": "\u0001\\",
}


def of(kind: str, *, mapped: bool = False) -> CanonicalPartitions:
    names = {"delta.columnMapping.physicalName": "p"}
    field = {"name": "part", "type": kind, "nullable": True, "metadata": names if mapped else {}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    mode = {"delta.columnMapping.mode": "name"} if mapped else {}
    return canonical_partitions(TableMetadata("id", schema, ("part",), mode))


def written(kind: str, text: str | None) -> str | None:
    values: dict[str, str | None] = json.loads(of(kind).text(json.dumps({"part": text})))
    return values["part"]


@pytest.mark.parametrize("kind", SAME)
def test_a_value_leaves_in_one_form(kind: str) -> None:
    assert {text: written(kind, text) for text in SAME[kind]} == dict.fromkeys(
        SAME[kind], SAME[kind][0]
    )


@pytest.mark.parametrize(("kind", "text"), OTHERS.items())
def test_what_is_no_value_of_the_type_stays_as_it_is(kind: str, text: str) -> None:
    assert written(kind, text) == text


@pytest.mark.parametrize("kind", [*SAME, *OTHERS])
def test_an_empty_text_is_null(kind: str) -> None:
    assert (written(kind, ""), written(kind, None)) == (None, None)


def test_fractions_keep_their_microseconds() -> None:
    assert written("timestamp", "2026-01-31 23:30:00.12") == "2026-01-31T23:30:00.120000Z"
    assert written("timestamp_ntz", "2026-01-31T23:30:00.1234567") == "2026-01-31 23:30:00.123456"


def test_columns_are_found_by_their_physical_names() -> None:
    assert of("boolean", mapped=True).text('{"p":"TRUE","part":"TRUE"}') == '{"p":"true","part":"TRUE"}'


@pytest.mark.parametrize("text", ["{}", '{"part":null}', '{"part":"\\ud800"}', "x"])
def test_what_has_no_texts_stays_as_it_is(text: str) -> None:
    assert of("boolean").text(text) == text


def test_each_partition_of_a_slice_is_rewritten() -> None:
    texts = [json.dumps({"part": each}, separators=(",", ":")) for each in ("TRUE", "f", "true")]
    column = pa.array([texts[row % 3] for row in range(9)]).dictionary_encode()
    files = pa.table({"partition_values": pa.chunked_array([column.slice(1, 2), column.slice(5)])})
    found = of("boolean").of_files(files).column("partition_values").to_pylist()
    assert [json.loads(text)["part"] for text in found] == [
        *("false", "true"),
        *("true", "true", "false", "true"),
    ]


def test_files_of_tables_without_partitions_are_not_touched() -> None:
    files = pa.table({"partition_values": pa.array(["{}"]).dictionary_encode()})
    metadata = TableMetadata("id", json.dumps({"type": "struct", "fields": []}))
    assert canonical_partitions(metadata).of_files(files) is files
