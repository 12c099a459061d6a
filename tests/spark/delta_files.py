"""A Delta table of many tiny files, whose log is written by hand."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import obstore
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from sluicegate_testing.servers.seaweedfs import SeaweedFS

_AT_ONCE = 16


@dataclass(frozen=True)
class ManyFiles:
    """A table with a file for each number."""

    server: SeaweedFS
    directory: str

    def write(self, numbers: Iterable[int]) -> None:
        """Write data files."""
        store = self.server.store()
        keys = [f"{self.directory}/{_path(number)}" for number in numbers]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda key: obstore.put(store, key, _data()), keys))

    def commit(self, version: int, *actions: Sequence[dict[str, Any]]) -> None:
        """Write a commit, or replace it."""
        lines = [{"commitInfo": {"operation": "WRITE"}}, *(each for some in actions for each in some)]
        text = b"\n".join(map(orjson.dumps, lines))
        obstore.put(self.server.store(), f"{self.directory}/_delta_log/{version:020}.json", text)

    def head(self) -> list[dict[str, Any]]:
        """Return protocol and metadata."""
        fields = [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]
        metadata = {
            "id": "many-files",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": orjson.dumps({"type": "struct", "fields": fields}).decode(),
            "partitionColumns": [],
            "configuration": {},
        }
        return [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]

    def adds(self, numbers: Iterable[int]) -> list[dict[str, Any]]:
        """Return actions that add files."""
        stats = orjson.dumps(
            {"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 1}, "nullCount": {"id": 0}}
        ).decode()
        size = len(_data())
        return [
            {
                "add": {
                    "path": _path(number),
                    "partitionValues": {},
                    "size": size,
                    "modificationTime": 1,
                    "dataChange": True,
                    "stats": stats,
                }
            }
            for number in numbers
        ]

    def removes(self, numbers: Iterable[int]) -> list[dict[str, Any]]:
        """Return actions that remove files, as old writers write them."""
        return [
            {"remove": {"path": _path(number), "deletionTimestamp": 2, "dataChange": True}}
            for number in numbers
        ]


def _path(number: int) -> str:
    return f"part-{number:05}-{'0' * 40}.c000.snappy.parquet"


def _data() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), buffer)
    return buffer.getvalue()
