"""Checkpoints of converted tables: live files, and removed files that VACUUM must keep."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.exceptions import BaseError
from obstore.store import LocalStore

from sluicegate.api import CatalogTable, ObjectDirectory
from sluicegate.formats import (
    FILE_SCHEMA,
    DeltaFormat,
    FileChunk,
    FileSet,
    Snapshot,
    TableMetadata,
    TableProtocol,
)
from sluicegate_spark.conversion.to_delta.checkpoints import write_checkpoint
from sluicegate_spark.conversion.to_delta.column_bounds import ColumnBounds
from sluicegate_spark.conversion.to_delta.delta_log import (
    add_lines,
    commit,
    commit_header,
    remove_lines,
)

NOW = time.time_ns() // 1_000_000
WEEK = 7 * 86_400_000  # milliseconds
PROTOCOL = TableProtocol(3, 7, ("deletionVectors",), ("deletionVectors", "sluicegateMirror"))
METADATA = TableMetadata(
    id="orders",
    schema_string=(
        '{"type":"struct","fields":[{"name":"p","type":"string","nullable":true,"metadata":{}}]}'
    ),
    partition_columns=("p",),
    configuration={"delta.checkpointInterval": "5"},
    created_time=7,
)


def file(path: str, *, vector: str | None = None, partition: str | None = "x") -> dict[str, Any]:
    """Return a row of `FILE_SCHEMA`."""
    descriptor = {"storageType": "i", "pathOrInlineDv": vector, "sizeInBytes": 3, "cardinality": 1}
    return {
        "path": path,
        "size": len(path),
        "modification_time": 5,
        "partition_values": orjson.dumps({"p": partition}).decode(),
        "stats": '{"numRecords":2,"minValues":{"a":"\\"\\n"}}',
        "deletion_vector": None if vector is None else descriptor,
    }


def datetime_of(now: int) -> datetime:
    """Return a time in epoch milliseconds as one with a time zone."""
    return datetime.fromtimestamp(now / 1000, UTC)


class Log:
    """A Delta table with its log in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "orders/_delta_log"
        self._directory = ObjectDirectory(LocalStore(str(folder)), "orders")
        self._table = CatalogTable("orders", "delta", (folder / "orders").as_uri())

    async def commit(
        self, version: int, added: Sequence[Any], removed: Sequence[Any] = (), now: int = NOW
    ) -> None:
        """Commit files to add and remove. Version 0 creates the table."""
        said = (PROTOCOL, METADATA) if version == 0 else (None, None)
        lines = (commit_header({}, *said), *remove_lines(files(removed), now), *add_lines(files(added)))
        await commit(self._directory, version, b"".join(lines))

    async def state(self) -> Snapshot:
        """Return the newest snapshot."""
        return await DeltaFormat().latest(self._table, self._directory, None)

    async def checkpoint(self, now: int = NOW) -> int:
        """Write the checkpoint of the newest version, and return the version."""
        state = await self.state()
        write_checkpoint(self._directory, state.version, state, datetime_of(now))
        return state.version

    def removed(self, version: int) -> list[tuple[str, str]]:
        """Return the tombstones of a checkpoint: paths and deletion vectors."""
        table = pq.read_table(self.folder / f"{version:020}.checkpoint.parquet", columns=["remove"])
        rows = table.column("remove").drop_null().to_pylist()
        return sorted(
            (row["path"], (row["deletionVector"] or {}).get("pathOrInlineDv", "")) for row in rows
        )


def files(rows: Sequence[dict[str, Any]]) -> FileSet:
    """Return a set of files."""
    return FileSet.of(
        [FileChunk.of(batch) for batch in pa.Table.from_pylist(list(rows), FILE_SCHEMA).to_batches()]
    )


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


async def test_a_checkpoint_alone_has_the_state_of_its_commits(log: Log) -> None:
    kept = [file("a b%2F/ü.parquet"), file("s3://other/c", partition=None), file("d", vector='x"y')]
    await log.commit(0, [*kept, file("gone"), file("e")])
    await log.commit(1, [file("e", vector="v")], [file("gone"), file("e")])
    told = await log.state()
    assert await log.checkpoint() == 1
    for old in log.folder.glob("*.json"):
        old.unlink()
    read = await log.state()
    assert (read.version, read.protocol, read.metadata) == (1, told.protocol, told.metadata)
    assert rows_of(read) == rows_of(told)
    assert len(rows_of(read)) == 4


def rows_of(state: Snapshot) -> list[dict[str, Any]]:
    """Return the files of a snapshot as rows, sorted by path."""
    rows = [row for batch in state.files.batches(10) for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: str(row["path"]))


async def test_the_newest_checkpoint_is_named_with_its_size(log: Log) -> None:
    await log.commit(0, [file("a"), file("b")])
    await log.checkpoint()
    await log.commit(1, [], [file("b")])
    await log.checkpoint()
    written = log.folder / f"{1:020}.checkpoint.parquet"
    assert orjson.loads((log.folder / "_last_checkpoint").read_bytes()) == {
        "version": 1,
        "size": pq.read_metadata(written).num_rows,
        "sizeInBytes": written.stat().st_size,
        "numOfAddFiles": 1,
    }
    assert pq.read_metadata(written).num_rows == 4  # protocol, metadata, a file and a tombstone


async def test_removed_files_are_kept_from_checkpoint_to_checkpoint_until_they_expire(log: Log) -> None:
    await log.commit(0, [file(name) for name in "abcdef"])
    await log.commit(1, [file("b", vector="v")], [file("a"), file("b")])
    await log.commit(2, [], [file("c")], NOW - WEEK)
    await log.commit(3, [], [file("d")], NOW - WEEK + 1)
    assert log.removed(await log.checkpoint()) == [("a", ""), ("b", ""), ("d", "")]
    (log.folder / f"{0:020}.json").unlink()
    await log.commit(4, [file("a")], [file("e"), file("b", vector="v")])
    kept = [("b", ""), ("b", "v"), ("e", "")]
    assert log.removed(await log.checkpoint(NOW + 1)) == kept
    await log.commit(5, [])
    assert log.removed(await log.checkpoint(NOW + WEEK - 1)) == kept
    await log.commit(6, [])
    assert log.removed(await log.checkpoint(NOW + WEEK)) == []


async def test_removed_files_are_taken_over_from_a_checkpoint_in_parts(log: Log) -> None:
    await log.commit(0, [file("a"), file("b"), file("c")])
    await log.commit(1, [], [file("a"), file("b")])
    await log.checkpoint()
    whole = log.folder / f"{1:020}.checkpoint.parquet"
    table = pq.read_table(whole)
    for part in (1, 2):
        name = f"{1:020}.checkpoint.{part:010}.{2:010}.parquet"
        pq.write_table(table.slice((part - 1) * 3, 3), log.folder / name)
    whole.unlink()
    for old in log.folder.glob("*.json"):
        old.unlink()
    await log.commit(2, [file("b")], [file("c")])
    assert log.removed(await log.checkpoint()) == [("a", ""), ("c", "")]


async def test_a_file_that_came_back_and_left_again_is_reported_once(log: Log) -> None:
    await log.commit(0, [file("a"), file("b")])
    await log.commit(1, [], [file("a")])
    await log.checkpoint()
    await log.commit(2, [file("a")], [file("b")])
    await log.commit(3, [file("b")], [file("a")])
    assert log.removed(await log.checkpoint()) == [("a", "")]


async def test_what_cannot_be_written_is_not_named(log: Log) -> None:
    await log.commit(0, [file("a")])
    (log.folder / f"{0:020}.checkpoint.parquet/in the way").mkdir(parents=True)
    with pytest.raises(BaseError):
        await log.checkpoint()
    assert not (log.folder / "_last_checkpoint").exists()
    assert len((await log.state()).files) == 1


async def test_bounds_are_complete_as_in_commits(log: Log) -> None:
    await log.commit(0, [file("a")])
    state = await log.state()
    numbers = '{"name":"n","type":"byte","nullable":true,"metadata":{}}'
    stats = '{"numRecords":2,"minValues":{},"maxValues":{"n":5},"nullCount":{"p":0}}'
    written = replace(
        state,
        metadata=replace(METADATA, schema_string=f'{{"type":"struct","fields":[{numbers}]}}'),
        files=files([{**file("a"), "stats": stats}]),
    )
    directory = ObjectDirectory(LocalStore(str(log.folder.parents[1])), "orders")
    write_checkpoint(directory, 0, written, datetime_of(NOW))
    table = pq.read_table(log.folder / f"{0:020}.checkpoint.parquet", columns=["add"])
    [added] = table.column("add").drop_null().to_pylist()
    assert added["stats"] == ColumnBounds.of(written.metadata).complete(stats) != stats
