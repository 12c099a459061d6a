"""The files of a response, and where the next page starts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.gateways.cached_queries import ALL
from support.tables.memory_tables import file, snapshot

from sluicegate.protocols.delta_sharing.query.selection import select
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.delta_sharing.request import QueryRequest

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
