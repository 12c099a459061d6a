"""Derives the changes of a commit from its actions (Delta protocol, "Add CDC File")."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.changes import CHANGE_SCHEMA, CommitFiles
from sluicegate.tables.delta.log_files.actions import Actions, check_sizes, one_batch
from sluicegate.tables.delta.log_files.paths import check_servable
from sluicegate.tables.snapshot import FILE_SCHEMA

_KINDS = pa.array(["add", "remove", "cdc"])
_ADD, _REMOVE, _CDC = range(len(_KINDS))


def commit_files(actions: Actions, source: str) -> CommitFiles:
    """The files that a commit changed.

    If a commit has `cdc` files, the feed consists of only these. A merge that reports that it changed
    no row has an empty feed, because it wrote no `cdc` files either (the reference server's rule).

    Raises:
        TableUnreadable: An action has no path, or an added file no size. The message starts with
            `source`.
    """
    _check(actions, source)
    added, removed = _that_change(actions.adds), _that_change(actions.removes)
    data = _in_order(_joined([_changes(added, _ADD), _changes(removed, _REMOVE)]))
    if actions.cdc.num_rows:
        return CommitFiles(data, _changes(actions.cdc, _CDC).select(CHANGE_SCHEMA.names))
    return CommitFiles(data, data.slice(0, 0) if actions.no_op else data)


def _check(actions: Actions, source: str) -> None:
    for batch, what in ((actions.adds, "adds"), (actions.removes, "removes"), (actions.cdc, "adds")):
        sized = batch is actions.removes or not batch.column("size").null_count
        if batch.column("path").null_count or not sized:
            raise TableUnreadable(f"{source} {what} a file without a path or a size")
        check_sizes(batch.column("size"), source)
        check_servable(batch.column("path"), source)


def _that_change(actions: pa.RecordBatch) -> pa.RecordBatch:
    if not actions.num_rows or pc.all(actions.column("data_change")).as_py():
        return actions
    return actions.filter(actions.column("data_change"))


def _changes(actions: pa.RecordBatch, kind: int) -> pa.RecordBatch:
    """The actions with their kind, and with their line in the commit."""
    if not actions.num_rows:
        return _nothing()
    kinds = pa.repeat(pa.scalar(kind, pa.int8()), actions.num_rows)
    columns = [actions.column(name) for name in FILE_SCHEMA.names]
    columns.append(pa.DictionaryArray.from_arrays(kinds, _KINDS))
    return pa.RecordBatch.from_arrays([*columns, actions.column("line")], schema=_with_lines())


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    filled = [batch for batch in batches if batch.num_rows]
    if len(filled) < 2:
        return filled[0] if filled else _nothing()
    return one_batch(pa.Table.from_batches(filled))


def _in_order(changes: pa.RecordBatch) -> pa.RecordBatch:
    """Sorted by line, but actions on one path are grouped, so that readers get all of them together.

    A deletion vector is replaced through a remove and an add of the same path; a reader pairs them.
    """
    paths, lines = changes.column("path").to_pylist(), changes.column("line").to_pylist()
    first: dict[str, int] = {}
    for line, path in sorted(zip(lines, paths, strict=True)):
        first.setdefault(path, line)
    keys = [(first[path], line) for path, line in zip(paths, lines, strict=True)]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    changes = changes.select(CHANGE_SCHEMA.names)
    return changes if order == list(range(len(order))) else changes.take(pa.array(order))


@cache
def _with_lines() -> pa.Schema:
    return CHANGE_SCHEMA.append(pa.field("line", pa.int64(), nullable=False))


@cache
def _nothing() -> pa.RecordBatch:
    """A shared empty batch, because most commits lack most kinds of actions."""
    schema = _with_lines()
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
