"""A Delta table of any number of files, as its log alone: no query reads a data file."""

from __future__ import annotations

import io
import random
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

Store = Mapping[str, bytes]

ORDER_IDS_A_FILE = 50_000  # one after the other, file by file

_CHECKPOINT = 10  # its version
_COMMITS = 5  # after the checkpoint: two files added and one removed by each
_ROW_GROUP = 50_000
_SLICE = 50_000
_COLUMNS = {"order_id": "long", "customer": "string", "amount": "double", "created": "timestamp"}
_MAP = pa.map_(pa.string(), pa.string())
_ADD = pa.struct(
    {
        "path": pa.string(),
        "partitionValues": _MAP,
        "size": pa.int64(),
        "modificationTime": pa.int64(),
        "dataChange": pa.bool_(),
        "stats": pa.string(),
    }
)
_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


@dataclass(frozen=True)
class SyntheticTable:
    """The log of a table partitioned by `date`, in the shape that Spark leaves behind.

    Attributes:
        files: Live files of the newest version, at least ten.
    """

    files: int

    def rows(self) -> Iterable[int]:
        """Numbers of the live files of the newest version, as `partition_date` takes them."""
        return (row for row in range(self.files + _COMMITS) if not 1 <= row <= _COMMITS)

    def next_commits(self, count: int) -> Iterable[tuple[str, bytes]]:
        """Commits behind the log, each of which adds one file and removes one."""
        first, row = _CHECKPOINT + _COMMITS + 1, self.files + _COMMITS
        for number in range(count):
            removed = {
                "path": _path(2 * _COMMITS + number),
                "deletionTimestamp": _modified(row + number),
                "dataChange": True,
            }
            actions = ({"add": _add(row + number)}, {"remove": removed})
            yield (
                f"{first + number:020}.json",
                _lines({"commitInfo": {"operation": "MERGE"}}, *actions),
            )

    def commit(
        self, number: int, added: Mapping[int, int], removed: Iterable[int]
    ) -> tuple[str, bytes]:
        """A commit behind the log."""
        adds = ({"add": {**_add(row), "size": size}} for row, size in added.items())
        removes = ({"remove": _remove(row)} for row in removed)
        name = f"{_CHECKPOINT + _COMMITS + number:020}.json"
        return name, _lines({"commitInfo": {"operation": "MERGE"}}, *adds, *removes)

    def log(self) -> Iterable[tuple[str, bytes]]:
        """Names below `_delta_log/` and their content: a checkpoint and the commits behind it."""
        version, adds = _CHECKPOINT, self.files - _COMMITS
        yield f"{version:020}.checkpoint.parquet", self._checkpoint(adds)
        yield f"{version:020}.json", _lines({"commitInfo": {"operation": "WRITE"}})
        yield "_last_checkpoint", orjson.dumps({"version": version, "size": adds + 2})
        for number in range(1, _COMMITS + 1):
            start = adds + 2 * (number - 1)
            removed = {"path": _path(number), "deletionTimestamp": _modified(start), "dataChange": True}
            yield (
                f"{version + number:020}.json",
                _lines(
                    {"commitInfo": {"operation": "MERGE"}},
                    {"add": _add(start)},
                    {"add": _add(start + 1)},
                    {"remove": removed},
                ),
            )

    def _checkpoint(self, adds: int) -> bytes:
        columns = {"protocol": _PROTOCOL, "metaData": _metadata(), "add": None}
        head = pa.Table.from_pylist(
            [{**dict.fromkeys(columns), name: value} for name, value in columns.items() if value],
            schema=_schema(),
        )
        sink = io.BytesIO()
        with pq.ParquetWriter(sink, _schema()) as writer:
            writer.write_table(head)
            for first in range(0, adds, _SLICE):
                rows = range(first, min(first + _SLICE, adds))
                writer.write_table(_add_rows(rows), row_group_size=_ROW_GROUP)
        return sink.getvalue()


@dataclass(frozen=True)
class ChangingTable:
    """The log of a table with a change data feed: each commit behind the first changes some files.

    Every other commit is an append; those between are merges, told by `cdc` files beside their adds
    and removes.
    """

    commits: int
    files: int

    def log(self) -> Iterable[tuple[str, bytes]]:
        """Names below `_delta_log/` and their content."""
        metadata = {**_metadata(), "configuration": {"delta.enableChangeDataFeed": "true"}}
        metadata["format"] = {"provider": "parquet", "options": {}}
        yield f"{0:020}.json", _lines({"protocol": _PROTOCOL}, {"metaData": metadata})
        for version in range(1, self.commits + 1):
            rows = range(version * self.files, (version + 1) * self.files)
            actions = [{"add": _add(row)} for row in rows]
            if version % 2 == 0:
                actions += [{"remove": _remove(row - self.files)} for row in rows]
                actions += [{"cdc": _cdc(row)} for row in rows]
            yield f"{version:020}.json", _lines({"commitInfo": {"operation": "MERGE"}}, *actions)


def _schema() -> pa.Schema:
    metadata = {
        "id": pa.string(),
        "format": pa.struct({"provider": pa.string(), "options": _MAP}),
        "schemaString": pa.string(),
        "partitionColumns": pa.list_(pa.string()),
        "configuration": _MAP,
        "createdTime": pa.int64(),
    }
    protocol = pa.struct(dict.fromkeys(_PROTOCOL, pa.int32()))
    return pa.schema({"protocol": protocol, "metaData": pa.struct(metadata), "add": _ADD})


def _metadata() -> dict[str, Any]:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in {**_COLUMNS, "date": "date"}.items()
    ]
    return {
        "id": str(uuid.UUID(int=7)),
        "format": {"provider": "parquet", "options": []},
        "schemaString": orjson.dumps({"type": "struct", "fields": fields}).decode(),
        "partitionColumns": ["date"],
        "configuration": [],
        "createdTime": _modified(0),
    }


def _add_rows(rows: range) -> pa.Table:
    adds = [_add(row) for row in rows]
    for add in adds:
        add["partitionValues"] = list(add["partitionValues"].items())
    nulls = {name: pa.nulls(len(adds), _schema().field(name).type) for name in ("protocol", "metaData")}
    return pa.table({**nulls, "add": pa.array(adds, _ADD)}, schema=_schema())


def _add(row: int) -> dict[str, Any]:
    return {
        "path": _path(row),
        "partitionValues": {"date": partition_date(row)},
        "size": 90_000_000 + row * 37 % 10_000_000,
        "modificationTime": _modified(row),
        "dataChange": True,
        "stats": _stats(row),
    }


def _remove(row: int) -> dict[str, Any]:
    add = _add(row)
    return {
        "path": add["path"],
        "deletionTimestamp": _modified(row),
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": add["partitionValues"],
        "size": add["size"],
    }


def _cdc(row: int) -> dict[str, Any]:
    add = _add(row)
    return {
        "path": f"_change_data/{add['path']}",
        "partitionValues": add["partitionValues"],
        "size": 40_000,
        "dataChange": False,
    }


def _path(row: int) -> str:
    name = uuid.UUID(int=random.Random(row).getrandbits(128))
    return f"date={partition_date(row)}/part-{row % 200:05d}-{name}.c000.snappy.parquet"


def file_path(row: int) -> str:
    """The path of a file, relative to the table."""
    return _path(row)


def partition_date(row: int) -> str:
    """The partition of a file."""
    day = row // 30 % 336
    return f"2026-{day // 28 + 1:02d}-{day % 28 + 1:02d}"


def _modified(row: int) -> int:
    return 1_767_225_600_000 + row * 1000


def _stats(row: int) -> str:
    first = row * ORDER_IDS_A_FILE
    lowest = {
        "order_id": first,
        "customer": f"acme-{row % 977:05d}",
        "amount": round(0.01 + row % 91 / 7, 2),
        "created": f"{partition_date(row)}T00:00:{row % 60:02d}.000Z",
    }
    highest = {
        "order_id": first + ORDER_IDS_A_FILE - 1,
        "customer": f"zeta-{row % 911:05d}",
        "amount": round(9_000 + row % 997 / 7, 2),
        "created": f"{partition_date(row)}T23:59:{row % 60:02d}.000Z",
    }
    nulls = dict.fromkeys(_COLUMNS, 0)
    stats = {
        "numRecords": ORDER_IDS_A_FILE,
        "minValues": lowest,
        "maxValues": highest,
        "nullCount": nulls,
    }
    return orjson.dumps(stats).decode()


def _lines(*actions: Mapping[str, Any]) -> bytes:
    return b"".join(orjson.dumps(action) + b"\n" for action in actions)
