"""Tables with deletion vectors: stored and inline, replaced, and in checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from support.tables.deltalog import ADD, Action, protocol, remove
from support.tables.reader_tables.folder import TableFolder
from support.tables.reader_tables.served import ReaderTable, Served
from support.tables.reader_tables.values import Row, rows_of
from support.tables.vectors import inline_vector, stored_vector

_FEATURE = "deletionVectors"
_ENABLED = {"delta__enableDeletionVectors": "true"}
_SCHEMA = pa.schema({"part": pa.int32(), "id": pa.int32(), "text": pa.string()})


def _without(add: Action, vector: dict[str, Any] | None) -> Action:
    """The `remove` action that goes with a file's new vector."""
    values = {} if vector is None else {"deletionVector": vector}
    return remove(add["add"]["path"], extendedFileMetadata=True, partitionValues={}, **values)


def _replaced(root: Path, make: Callable[[Path, Sequence[int]], dict[str, Any]]) -> None:
    """One file, whose vector grows with each commit."""
    table, rows = TableFolder(root, _SCHEMA), rows_of(_SCHEMA, range(50))
    add = table.file("a.parquet", rows)
    table.log.commit(0, protocol(3, _FEATURE), table.metadata(**_ENABLED), add)
    before: dict[str, Any] | None = None
    for version, deleted in enumerate(([0], [0, 7], [0, 7, 14]), 1):
        vector = make(table.log.root, deleted)
        table.log.commit(
            version, table.file("a.parquet", rows, deletionVector=vector), _without(add, before)
        )
        before = vector
    table.expect([row for row in rows if row["id"] not in (0, 7, 14)])


def _checkpointed(root: Path) -> None:
    """A file with each odd version, its vector with the next one; a checkpoint in between."""
    table = TableFolder(root, _SCHEMA, partitioned_by=["part"])
    head = [protocol(3, _FEATURE), table.metadata(**_ENABLED)]
    table.log.commit(0, *head)
    live: list[Action] = []
    left: list[Row] = []
    for version in range(1, 13):
        number = (version + 1) // 2
        rows = [
            row | {"part": number % 3} for row in rows_of(_SCHEMA, range(3 * number, 3 * number + 3))
        ]
        if version % 2:
            live.append(table.file(f"{number}.parquet", rows))
            table.log.commit(version, live[-1])
        else:
            before = live.pop()
            vector = stored_vector(table.log.root, [1])
            live.append(table.file(f"{number}.parquet", rows, deletionVector=vector))
            table.log.commit(version, live[-1], _without(before, None))
            left += [rows[0], rows[2]]
        if version == 10:
            parsed = [_with_parsed_values(add) for add in live]
            fields = {**ADD, "partitionValues_parsed": pa.struct({"part": pa.int32()})}
            table.log.parquet(f"{version:020}.checkpoint.parquet", [*head, *parsed], fields)
            table.log.hint(f'{{"version":{version},"size":{2 + len(live)}}}')
    table.expect(left)


def _with_parsed_values(add: Action) -> Action:
    part = int(add["add"]["partitionValues"]["part"])
    return {"add": {**add["add"], "partitionValues_parsed": {"part": part}}}


def _inline(_: Path, rows: Sequence[int]) -> dict[str, Any]:
    return inline_vector(rows)


_SERVED = Served((_FEATURE,))
TABLES = {
    "vectors-replaced": ReaderTable(partial(_replaced, make=stored_vector), _SERVED),
    "vectors-inline": ReaderTable(partial(_replaced, make=_inline), _SERVED),
    "vectors-by-partition-in-a-checkpoint": ReaderTable(_checkpointed, _SERVED),
}
