"""A small Delta table in memory: a checkpoint, and commits that change it (Delta protocol)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from obstore.store import MemoryStore

FOLDER = "table"
CHECKPOINT, LATEST = 1, 2
_MAP = pa.map_(pa.string(), pa.string())
_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 4}
_COLUMNS = {"id": "long", "name": "string", "amount": "double", "at": "timestamp", "day": "date"}
_SCHEMA = pa.schema(
    {
        "protocol": pa.struct(dict.fromkeys(_PROTOCOL, pa.int32())),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": _MAP}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": _MAP,
                "createdTime": pa.int64(),
            }
        ),
        "add": pa.struct(
            {
                "path": pa.string(),
                "partitionValues": _MAP,
                "size": pa.int64(),
                "modificationTime": pa.int64(),
                "dataChange": pa.bool_(),
                "stats": pa.string(),
            }
        ),
    }
)


def rehearsal_store() -> MemoryStore:
    """A store that contains the table's log in `FOLDER`."""
    store = MemoryStore()
    for name, content in _log().items():
        store.put(f"{FOLDER}/_delta_log/{name}", content)
    return store


def _log() -> Mapping[str, bytes]:
    removed = {"path": _path(0), "deletionTimestamp": 1, "dataChange": True, "size": 1}
    return {
        f"{CHECKPOINT:020}.checkpoint.parquet": _checkpoint(),
        f"{CHECKPOINT:020}.json": _lines({"commitInfo": {"operation": "WRITE", "timestamp": 1}}),
        "_last_checkpoint": orjson.dumps({"version": CHECKPOINT, "size": 4}),
        f"{LATEST:020}.json": _lines(
            {"commitInfo": {"operation": "MERGE", "timestamp": 2}},
            {"add": _add(2)},
            {"remove": removed},
        ),
    }


def _checkpoint() -> bytes:
    rows: list[dict[str, Any]] = [
        {"protocol": _PROTOCOL},
        {"metaData": _metadata()},
        *({"add": {**_add(row), "partitionValues": [("day", _day(row))]}} for row in range(2)),
    ]
    table = pa.Table.from_pylist([{**dict.fromkeys(_SCHEMA.names), **row} for row in rows], _SCHEMA)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _metadata() -> dict[str, Any]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in _COLUMNS.items()
    ]
    return {
        "id": "00000000-0000-0000-0000-000000000000",
        "format": {"provider": "parquet", "options": []},
        "schemaString": orjson.dumps({"type": "struct", "fields": fields}).decode(),
        "partitionColumns": ["day"],
        "configuration": [("delta.enableChangeDataFeed", "true")],
        "createdTime": 1,
    }


def _add(row: int) -> dict[str, Any]:
    bounds = {"id": row, "name": f"n{row}", "amount": row / 2, "at": f"{_day(row)}T00:00:00.000Z"}
    stats = {
        "numRecords": 1,
        "minValues": bounds,
        "maxValues": bounds,
        "nullCount": dict.fromkeys(bounds, 0),
    }
    return {
        "path": _path(row),
        "partitionValues": {"day": _day(row)},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
        "stats": orjson.dumps(stats).decode(),
    }


def _path(row: int) -> str:
    return f"day={_day(row)}/part-{row}.parquet"


def _day(row: int) -> str:
    return f"2026-01-0{row + 1}"


def _lines(*actions: Mapping[str, Any]) -> bytes:
    return b"".join(orjson.dumps(action) + b"\n" for action in actions)
