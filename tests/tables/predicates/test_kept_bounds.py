"""Bounds are read once from each chunk, follow a snapshot while it is advanced, and stay bounded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.tables.deltalog import DeltaFolder, add, metadata, protocol, remove
from support.tables.filesets import file_set, kept, schema_field, table_metadata
from support.tables.snapshots import latest

from sluicegate.tables.derived_columns import DerivedColumns
from sluicegate.tables.predicates import from_hints, prune, pruning
from sluicegate.tables.snapshot import Snapshot

METADATA = table_metadata([schema_field("id", "long"), schema_field("p", "long")], ["p"])


def stats(low: int) -> str:
    bounds: dict[str, Any] = {"minValues": {"id": low}, "maxValues": {"id": low + 9}}
    return json.dumps({"numRecords": 5, **bounds, "nullCount": {"id": 0}})


def left(snapshot: Snapshot, hint: str) -> list[str]:
    predicate = from_hints(None, [hint])
    assert predicate is not None
    files = prune(snapshot.files, snapshot.metadata, predicate)
    return [path for batch in files.batches(1000) for path in batch.column("path").to_pylist()]


class Lengths:
    """Derives the number of rows, and remembers for what it was asked."""

    def __init__(self, chunk: pa.Array) -> None:
        self.chunk = chunk
        self.asked: list[object] = []

    def __call__(self, names: Sequence[object]) -> list[pa.Array]:
        self.asked += names
        return [pa.array(range(len(self.chunk))) for _ in names]


def test_what_was_derived_is_kept() -> None:
    derived, chunk = DerivedColumns(), pa.array(["a", "b"])
    derive = Lengths(chunk)
    for names in (["x"], ["x", "y"], ["y", "x"]):
        assert [len(value) for value in derived.get(chunk, names, derive)] == [2] * len(names)
    assert derive.asked == ["x", "y"]
    assert (len(derived), derived.nbytes) == (2, 32)


def test_chunks_are_distinguished() -> None:
    derived = DerivedColumns()
    whole = pa.array(["a", "b", "c"])
    for chunk in (whole, whole[:2], whole[1:], pa.array(["a", "b", "c"]), whole):
        assert [len(value) for value in derived.get(chunk, ["x"], Lengths(chunk))] == [len(chunk)]
    assert len(derived) == 4


def test_the_least_recently_used_goes_first() -> None:
    derived = DerivedColumns(max_bytes=40)
    chunk = pa.array(["a", "b"])
    derive = Lengths(chunk)
    for name in ("x", "y", "x", "z"):
        derived.get(chunk, [name], derive)
    assert derived.nbytes <= 40
    derived.get(chunk, ["x"], derive)
    assert derive.asked == ["x", "y", "z"]
    derived.get(chunk, ["y"], derive)
    assert derive.asked[-1] == "y"


def test_what_is_larger_than_the_bound_is_answered_but_not_kept() -> None:
    derived = DerivedColumns(max_bytes=10)
    chunk = pa.array(["a", "b"])
    assert [len(value) for value in derived.get(chunk, ["x"], Lengths(chunk))] == [2]
    assert (len(derived), derived.nbytes) == (0, 0)


def test_requests_at_the_same_time_derive_once() -> None:
    derived, chunk = DerivedColumns(), pa.array(["a"] * 1000)
    derive = Lengths(chunk)
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(derived.get, chunk, ["x"], derive) for _ in range(50)]:
            future.result()
    assert derive.asked == ["x"]


def test_only_chunks_that_live_on_are_carried() -> None:
    table = pa.table({"stats": pa.chunked_array([["a", "b"], ["c"]])})
    derived = DerivedColumns()
    first, second = table.column("stats").chunks
    for chunk in (first, second):
        derived.get(chunk, ["x"], Lengths(chunk))
    rest = derived.carried_to([second])
    derive = Lengths(second)
    rest.get(second, ["x"], derive)
    assert (len(rest), rest.nbytes, derive.asked) == (1, 8, [])
    assert (len(derived), derived.nbytes) == (2, 24)


async def test_an_advanced_snapshot_reads_only_the_statistics_of_new_files(tmp_path: Path) -> None:
    folder = DeltaFolder(tmp_path)
    adds = [add(f"f{number:03}", stats=stats(10 * number)) for number in range(200)]
    folder.commit(0, protocol(), metadata(), *adds)
    first = await latest(folder)
    assert left(first, "id = 1234") == ["f123"]
    before = first.files.derived.nbytes
    folder.commit(1, remove("f123"), add("new", stats=stats(1230)), add("other", stats=stats(9000)))
    second = await latest(folder, first)
    assert second.files.derived.nbytes == before > 0
    assert left(second, "id = 1234") == ["new"]
    assert left(second, "id = 9001") == ["other"]
    assert left(first, "id = 1234") == ["f123"]
    assert (len(second.files.stats), len(second.files.derived)) == (2, 2)


async def test_a_chunk_that_was_rewritten_is_read_anew(tmp_path: Path) -> None:
    folder = DeltaFolder(tmp_path)
    adds = [add(f"f{number}", stats=stats(10 * number)) for number in range(8)]
    folder.commit(0, protocol(), metadata(), *adds)
    snapshot = await latest(folder)
    for version in range(1, 8):
        assert left(snapshot, f"id = {10 * version}") == [f"f{version}"]
        folder.commit(version, remove(f"f{version - 1}"))
        snapshot = await latest(folder, snapshot)
        assert left(snapshot, f"id = {10 * version - 10}") == []


def test_statistics_are_read_only_where_partitions_leave_files() -> None:
    files = file_set(
        [(json.dumps({"p": str(day)}), stats(10 * day)) for day in range(10)], chunk_rows=1
    )
    assert kept(files, METADATA, "id >= 0 AND p = 7") == {7}
    assert len(files.derived) == 10 + 1
    nothing_lives = file_set([('{"p": "1"}', stats(0))])
    nothing_lives = nothing_lives.where(pa.array([False]))
    assert kept(nothing_lives, METADATA, "id = 1") == set()
    assert len(nothing_lives.derived) == 0


def test_terms_that_are_too_much_work_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    files = file_set([(json.dumps({"p": str(day)}), stats(10 * day)) for day in range(10)])
    monkeypatch.setattr(pruning, "MAX_COMPARISONS", 40)
    assert kept(files, METADATA, "id IN (1, 11, 21)", "p IN (0, 1, 5, 7)") == {0, 1}
    assert kept(files, METADATA, "id IN (1, 11, 21, 31, 41)", "p IN (0, 1, 5, 7)") == {0, 1, 5, 7}


def test_bounds_count_as_memory_of_the_files() -> None:
    files = file_set([("{}", stats(10 * number)) for number in range(100)])
    before = files.nbytes
    assert kept(files, METADATA, "id = 5") == {0}
    assert files.nbytes == before + files.derived.nbytes > before


@pytest.mark.parametrize("hint", ["id = 1234", "p = 3 AND id > 5"])
def test_tables_without_files_stay_empty(hint: str) -> None:
    assert kept(file_set([]), METADATA, hint) == set()
