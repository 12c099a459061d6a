"""Manifests as they are written, and as nobody should write them."""

from __future__ import annotations

import io
import random
from typing import Any

import fastavro
import pytest

from sluicegate.api import Budget, TableUnreadable
from sluicegate_iceberg.format.manifests.manifest_files import DATA, Manifest, entries_of
from sluicegate_iceberg.format.metadata.metadata_file import parse_metadata

MANIFEST = Manifest("m.avro", DATA, 1, 1)
_DATE, _MICROS = ("int", "date"), ("long", "timestamp-micros")


def manifest(kind: tuple[str, str], values: list[int]) -> bytes:
    """Of files whose partitions have these values; written without the logical type, as numbers."""

    def entry(partition: Any) -> dict[str, Any]:
        struct = {"type": "record", "name": "r102", "fields": [{"name": "p", "type": partition}]}
        fields = [{"name": "file_path", "type": "string"}, {"name": "partition", "type": struct}]
        file = {"type": "record", "name": "r2", "fields": fields}
        named = [{"name": "status", "type": "int"}, {"name": "data_file", "type": file}]
        return {"type": "record", "name": "manifest_entry", "fields": named}

    rows = [
        {"status": 1, "data_file": {"file_path": f"{number}.parquet", "partition": {"p": value}}}
        for number, value in enumerate(values)
    ]
    text, logical = kind
    # What a reader looks at is as long as what it is replaced by.
    marked = {"type": text, "x" * len("logicalType"): logical}
    buffer = io.BytesIO()
    fastavro.writer(buffer, entry(marked), rows, codec="deflate")
    return buffer.getvalue().replace(b"x" * len("logicalType"), b"logicalType")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (_DATE, 5_000_000),  # the year 15659
        (_DATE, 2**31 - 1),
        (_DATE, -800_000),
        (_MICROS, 2**62),
        (_MICROS, -(2**60)),
    ],
)
def test_files_of_dates_that_python_does_not_know_are_read(kind: tuple[str, str], value: int) -> None:
    entries = list(entries_of(MANIFEST, manifest(kind, [1, value]), Budget()))
    assert [entry.file["file_path"] for entry in entries] == ["0.parquet", "1.parquet"]


def test_a_broken_manifest_is_reported() -> None:
    good = manifest(_DATE, list(range(200)))
    dice, told = random.Random(1), 0
    for _ in range(1000):
        data = bytearray(good[: dice.randrange(len(good))] if dice.random() < 0.3 else good)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            list(entries_of(MANIFEST, bytes(data), Budget()))
        except TableUnreadable:
            told += 1
    assert told > 800


@pytest.mark.parametrize(
    "data",
    [
        b"\x1f\x8b\x08" + b"\xff" * 40,
        b"[]",
        b'{"format-version": 2, "schemas": [1], "current-schema-id": 0}',
        b'{"format-version": 2, "schemas": [], "schema": {"fields": []}, "properties": [1]}',
    ],
)
def test_broken_metadata_is_reported(data: bytes) -> None:
    with pytest.raises(TableUnreadable, match="metadata file of the Iceberg table is broken"):
        parse_metadata(data)
