"""The newest version of a log is found without its files, and logs are read in slices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from obstore.store import LocalStore

from sluicegate.api import ObjectDirectory, StorageError, TableUnreadable, TaskFailed
from sluicegate.formats import FileSet, Snapshot, TableMetadata, TableProtocol
from sluicegate_spark.conversion.executor_errors import raise_failure
from sluicegate_spark.conversion.to_delta.checkpoints import write_checkpoint
from sluicegate_spark.conversion.to_delta.delta_log import (
    add_lines,
    commit,
    commit_header,
    remove_lines,
)
from sluicegate_spark.conversion.to_delta.distributed import log_rows
from sluicegate_spark.conversion.to_delta.distributed.log_files import (
    LogFile,
    LogFiles,
    list_log,
    read_head,
)
from sluicegate_spark.conversion.to_delta.distributed.log_rows import ACTIONS, LogReader
from sluicegate_spark.conversion.to_delta.distributed.problems import PROBLEM, caught

from ...delta_parts import VECTOR, files_of
from ..test_checkpoints import NOW, PROTOCOL, WEEK, datetime_of

SCHEMA = '{"type":"struct","fields":[]}'
METADATA = TableMetadata(id="t", schema_string=SCHEMA, configuration={"k": "v"})
LATER = TableMetadata(id="t", schema_string=SCHEMA, configuration={"k": "w"})


def directory_in(folder: Path) -> ObjectDirectory:
    return ObjectDirectory(LocalStore(str(folder)), "orders")


def files(*numbers: int) -> FileSet:
    return files_of(*({"path": f"a b/{each:05}", "size": each, "stats": "{}"} for each in numbers))


async def write(
    folder: Path,
    version: int,
    protocol: TableProtocol | None,
    metadata: TableMetadata | None,
    *lines: bytes,
) -> None:
    content = b"".join((commit_header({"txnId": "x" * 100}, protocol, metadata), *lines))
    await commit(directory_in(folder), version, content)


async def test_the_protocol_may_be_in_an_earlier_commit(tmp_path: Path) -> None:
    assert read_head(directory_in(tmp_path)) is None
    await write(tmp_path, 0, PROTOCOL, METADATA, *add_lines(files(1)))
    await write(tmp_path, 1, None, LATER, *remove_lines(files(1), NOW))
    head = read_head(directory_in(tmp_path))
    assert head is not None
    assert (head.version, head.protocol, head.configuration) == (1, PROTOCOL, {"k": "w"})


@pytest.mark.parametrize("columns", [10, 70_000, 2_000_000])
@pytest.mark.parametrize("empty", [True, False])
async def test_the_metadata_of_a_table_may_be_long(tmp_path: Path, columns: int, empty: bool) -> None:
    metadata = replace(METADATA, schema_string="x" * columns)
    await write(tmp_path, 0, PROTOCOL, metadata, *(() if empty else add_lines(files(1))))
    head = read_head(directory_in(tmp_path))
    assert head is not None
    assert (head.protocol, head.configuration) == (PROTOCOL, {"k": "v"})


async def test_the_protocol_may_be_in_the_checkpoint(tmp_path: Path) -> None:
    directory = directory_in(tmp_path)
    await write(tmp_path, 0, PROTOCOL, METADATA, *add_lines(files(1, 2)))
    state = Snapshot(0, 0, PROTOCOL, METADATA, files(1, 2))
    write_checkpoint(directory, 0, state, datetime_of(NOW))
    await write(tmp_path, 1, None, LATER)
    (tmp_path / f"orders/_delta_log/{0:020}.json").unlink()
    head = read_head(directory)
    assert head is not None
    assert (head.version, head.protocol, head.configuration) == (1, PROTOCOL, {"k": "w"})


@pytest.mark.parametrize("content", [b"", b"{}", b'{"commitInfo":{}}\n{"add":{}}\n', b'{"metaData":'])
async def test_a_commit_of_another_writer_is_left_to_the_gateways_reader(
    tmp_path: Path, content: bytes
) -> None:
    await commit(directory_in(tmp_path), 0, content)
    with pytest.raises(TableUnreadable):
        read_head(directory_in(tmp_path))


def test_a_checkpoint_counts_only_with_all_its_parts(tmp_path: Path) -> None:
    log = tmp_path / "orders/_delta_log"
    log.mkdir(parents=True)
    for name in (
        "3.checkpoint.0000000001.0000000002",
        "5.checkpoint.0000000002.0000000002",
        "4.checkpoint",
    ):
        version, _, rest = name.partition(".")
        (log / f"{int(version):020}.{rest}.parquet").touch()
    (log / f"{3:020}.checkpoint.{2:010}.{2:010}.parquet").touch()
    found = list_log(directory_in(tmp_path)).checkpoints
    assert {version: len(parts) for version, parts in found.items()} == {3: 2, 4: 1}


def test_a_version_is_read_from_each_checkpoint_to_which_all_commits_lead() -> None:
    def file(version: int, kind: str = "json") -> LogFile:
        return LogFile(f"{version:020}.{kind}", version, 1)

    commits = {version: file(version) for version in (0, 1, 2, 4, 5)}
    log = LogFiles(commits, {each: (file(each, "checkpoint.parquet"),) for each in (1, 3, 5)})
    assert [[each.version for each in segment] for segment in log.segments(5)] == [[5], [3, 4, 5]]
    assert [[each.version for each in each] for each in log.segments(5, before=5)] == [[3, 4, 5]]
    assert [[each.version for each in each] for each in log.segments(2)] == [[1, 2], [0, 1, 2]]


def read(folder: Path, file: LogFile, slices: int) -> list[dict[str, Any]]:
    """Return the rows of all slices of a file."""
    granted = SimpleNamespace(is_limited=False)
    access: Any = SimpleNamespace(directory=lambda _: directory_in(folder), granted=granted)
    reader = LogReader(access, "s3://lake/orders", stats=True)
    parts = [{"name": file.name, "version": file.version, "size": file.size} for _ in range(slices)]
    rows = [{**part, "number": number, "slices": slices} for number, part in enumerate(parts)]
    batches = log_rows._actions(reader, pa.Table.from_pylist(rows).to_batches())
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("slices", [1, 2, 3, 7, 50, 3000])
async def test_each_action_is_in_one_slice(tmp_path: Path, slices: int) -> None:
    await write(
        tmp_path, 0, PROTOCOL, METADATA, *remove_lines(files(1), 9), *add_lines(files(*range(2, 9)))
    )
    (file,) = list_log(directory_in(tmp_path)).commits.values()
    rows = sorted(read(tmp_path, file, slices), key=lambda row: row["position"])
    assert [(row["kind"], row["path"], row["size"]) for row in rows] == [
        ("remove", "a b/00001", 1),
        *(("add", f"a b/{each:05}", each) for each in range(2, 9)),
    ]
    assert {row["uri"][:4] for row in rows} == {"a%20"}
    assert [row["deletion_timestamp"] for row in rows] == [9] + [None] * 7


@pytest.mark.parametrize("slices", [1, 2, 5])
async def test_a_checkpoint_is_read_in_slices(tmp_path: Path, slices: int) -> None:
    directory = directory_in(tmp_path)
    changed = files_of({"path": "b", "size": 4, "stats": "{}", "deletion_vector": VECTOR})
    await write(tmp_path, 0, PROTOCOL, METADATA, *add_lines(files(1, 2)))
    await write(tmp_path, 1, None, LATER, *remove_lines(files(2), NOW), *add_lines(changed))
    live = FileSet.of([chunk for each in (files(1), changed) for chunk, _ in each.chunks()])
    write_checkpoint(directory, 1, Snapshot(1, 0, PROTOCOL, LATER, live), datetime_of(NOW - WEEK + 5))
    ((file,),) = list_log(directory).checkpoints.values()
    rows = sorted(read(tmp_path, file, slices), key=lambda row: (row["kind"], row["path"]))
    assert [(row["kind"], row["path"], row["vector"], row["version"]) for row in rows] == [
        ("add", "a b/00001", "", -1),
        ("add", "b", VECTOR["pathOrInlineDv"], -1),
        ("remove", "a b/00002", "", -1),
    ]
    assert [row["partition_values"] for row in rows] == ["{}"] * 3


@pytest.mark.parametrize(
    "name", ["00000000000000000000.json", "00000000000000000000.checkpoint.parquet"]
)
@pytest.mark.parametrize(("content", "said"), [(b"{damaged", "damaged"), (None, "missing")])
def test_a_problem_of_the_log_is_a_row(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    log = tmp_path / "orders/_delta_log"
    log.mkdir(parents=True)
    if content is not None:
        (log / name).write_bytes(content)
    (row,) = read(tmp_path, LogFile(name, 0, 8), 1)
    with pytest.raises(TableUnreadable, match=f"Delta log's {name} is {said}"):
        raise_failure(row[PROBLEM])


@pytest.mark.parametrize(
    "error",
    [
        StorageError("down", detail="d"),
        TableUnreadable("broken"),
        TaskFailed("no", error_code="NOT_GRANTED", retryable=True, detail="x"),
    ],
)
def test_an_error_of_an_executor_is_raised_again(error: Exception) -> None:
    def failing() -> Any:
        yield pa.RecordBatch.from_pylist([{"path": "a"}], ACTIONS)
        raise error

    first, last = caught(failing(), ACTIONS)
    assert first.column(PROBLEM).null_count == 1
    with pytest.raises(type(error)) as raised:
        raise_failure(last.column(PROBLEM)[0].as_py())
    assert vars(raised.value) == vars(error)
    raise_failure(None)
