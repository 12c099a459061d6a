"""An Iceberg table of any number of files, as its metadata alone: no query reads a data file."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyiceberg.table import Table

_MANIFESTS = 10
_LIVE = (0, 1)  # statuses of entries
_ORDER_ID = 1  # a field id


def columns(first: int = 0) -> pa.Table:
    """Rows of a data file."""
    moment = datetime(2024, 5, 1, tzinfo=UTC)
    return pa.table(
        {
            "order_id": pa.array([first, first + 1], pa.int64()),
            "customer": ["Ada", "Grace"],
            "amount": [1.25, 2.5],
            "created": pa.array([moment, moment], pa.timestamp("us", "UTC")),
        }
    )


def fill(table: Table, files: int, *, numbered: bool = False) -> None:
    """Commit manifests that name so many files, all of them like one that is there."""
    for number in range(_MANIFESTS):
        table.append(columns(number))
    share = -(-files // _MANIFESTS)
    snapshot = table.refresh().current_snapshot()
    assert snapshot is not None
    for number, manifest in enumerate(snapshot.manifests(table.io)):
        rows = range(number * share, min((number + 1) * share, files))
        _multiply(_path(manifest.manifest_path), number, rows, numbered)


def _multiply(path: Path, number: int, rows: range, numbered: bool) -> None:
    with path.open("rb") as stream:
        reader: Any = fastavro.reader(stream)
        schema = reader.writer_schema
        (entry,) = (row for row in reader if row["status"] in _LIVE)
        headers = {key: text for key, text in reader.metadata.items() if not key.startswith("avro.")}
    folder, _, name = entry["data_file"]["file_path"].rpartition("/")
    entries = [
        {
            **entry,
            "data_file": {
                **entry["data_file"],
                "file_path": f"{folder}/{number}-{at}-{name}",
                **(_bounds(row) if numbered else {}),
            },
        }
        for at, row in enumerate(rows)
    ]
    with path.open("wb") as stream:
        fastavro.writer(stream, schema, entries, codec="deflate", metadata=headers)


def _bounds(order_id: int) -> dict[str, Any]:
    bounds = [{"key": _ORDER_ID, "value": struct.pack("<q", order_id)}]
    return {"lower_bounds": bounds, "upper_bounds": bounds}


def _path(location: str) -> Path:
    return Path(location.removeprefix("file://"))
