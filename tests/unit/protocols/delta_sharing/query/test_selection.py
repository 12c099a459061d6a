"""The files of a response, and where the next page starts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from support.gateways.cached_queries import ALL
from support.tables.memory_tables import file, snapshot

from sluicegate.protocols.delta_sharing.query.selection import RowLimit, select
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate.tables.snapshot import FILE_SCHEMA

STATS = json.dumps({"numRecords": 10})
FILES = snapshot(*(file(name, stats=STATS) for name in "cadb")).files


@pytest.mark.parametrize(
    ("request_", "start", "paths", "following"),
    [
        (ALL, Continuation(), "cadb", None),
        (replace(ALL, limit=15), Continuation(), "ca", None),
        (replace(ALL, max_files=3), Continuation(), "abc", Continuation(7, "c", None)),
        (replace(ALL, max_files=3, limit=100), Continuation(), "abc", Continuation(7, "c", 70)),
        (replace(ALL, max_files=3, limit=15), Continuation(), "ab", None),
        (replace(ALL, max_files=3), Continuation(7, "c"), "d", None),
        (ALL, Continuation(7, "a"), "bcd", None),
        (replace(ALL, limit=100), Continuation(7, "a", 10), "b", None),
    ],
)
def test_files_and_next_page(
    request_: QueryRequest, start: Continuation, paths: str, following: Continuation | None
) -> None:
    selection = select(FILES, request_, start)
    found = [path for batch in selection.batches for path in batch.column("path").to_pylist()]
    assert "".join(found) == paths
    assert selection.next_page(7) == following


def batch(*stats: str | None, deleted: int | None = None) -> pa.Table:
    vector = None if deleted is None else {"cardinality": deleted}
    rows: list[dict[str, Any]] = [
        {
            "path": str(number),
            "size": 1,
            "modification_time": 1,
            "partition_values": "{}",
            "stats": each,
            "deletion_vector": vector,
        }
        for number, each in enumerate(stats)
    ]
    return pa.Table.from_pylist(rows, schema=FILE_SCHEMA)


def rows(count: object) -> str:
    return json.dumps({"numRecords": count})


def sizes(limit: int | None, *batches: pa.Table) -> list[int]:
    return [each.num_rows for each in RowLimit(limit).cut(iter(batches))]


def test_without_a_limit_all_files_are_needed() -> None:
    assert sizes(None, batch(rows(9)), batch(rows(9), rows(9))) == [1, 2]


@pytest.mark.parametrize(
    ("limit", "needed"), [(1, [1]), (10, [1]), (11, [2]), (20, [2]), (21, [2, 1]), (99, [2, 2])]
)
def test_files_are_cut_off_where_the_limit_is_reached(limit: int, needed: list[int]) -> None:
    two = batch(rows(10), rows(10))
    assert sizes(limit, two, two) == needed


def test_a_limit_of_zero_needs_no_file() -> None:
    assert sizes(0, batch(rows(1))) == []


def test_deleted_rows_are_not_counted() -> None:
    assert sizes(10, batch(rows(10), rows(10), rows(10), deleted=4)) == [2]


@pytest.mark.parametrize("stats", [None, "", "{}", "[]", "no JSON", rows("10"), rows(None)])
def test_a_file_without_a_row_count_is_needed_and_not_counted(stats: str | None) -> None:
    assert sizes(10, batch(stats, rows(10), rows(10))) == [2]
