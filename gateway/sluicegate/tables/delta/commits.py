"""Commits, compactions and JSON checkpoints: lines of JSON into columns (Delta protocol, "Actions")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BufferedReader, BytesIO
from typing import IO, TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from sluicegate.budget import Budget
from sluicegate.errors import TableUnreadable
from sluicegate.tables.delta.actions import (
    Actions,
    Row,
    action_columns,
    action_row,
    joined_actions,
)
from sluicegate.tables.delta.names import LogFile, Sidecar, sidecar_of
from sluicegate.tables.delta.protocol import metadata_of, protocol_of
from sluicegate.tables.delta.shape import timestamp

if TYPE_CHECKING:
    from sluicegate.tables.delta.store import LogStore

_INLINE_BYTES = 64 * 1024
_WHOLE_BYTES = 8 * 1024 * 1024
_PIECE_BYTES = 4 * 1024 * 1024
_LONG_LINE = 1024 * 1024
_LONGEST_LINE = 16 * 1024 * 1024  # the parser lets nobody else run until the line's end
_OBJECTS = 20  # bytes of Python objects that a byte of JSON may become
SIDECAR_BYTES = 250
_COPIES = 2  # of the columns are in memory while a version is put together
_PARSER_ERRORS = (
    AttributeError,
    LookupError,
    OSError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    pa.ArrowException,
)
_FILES = ("add", "remove", "cdc")
_SINGLES = frozenset({"protocol", "metaData", "commitInfo"})
_MERGED_ROWS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


async def read_actions(store: LogStore, file: LogFile, root: str) -> Actions:
    """Fetch and parse one file of JSON actions; of a large one a piece at a time is in memory.

    Raises:
        ObjectMissing: It is gone.
        TableUnreadable: It is damaged, or exceeds the budget.
        StorageError: The store does not answer or refuses.
    """
    if file.size <= _WHOLE_BYTES:
        data = await store.read(file.name)
        if len(data) <= _INLINE_BYTES:
            return parse_actions(data, file, root, store.budget)
        source: IO[bytes] = BytesIO(data)
    else:
        await store.budget.admit(file.size)
        source = BufferedReader(store.open(file.name, file.size), _WHOLE_BYTES)
    return await store.budget.run(_parse, source, file, root, store.budget, limiter=store.decoding)


def parse_actions(data: Any, file: LogFile, root: str, budget: Budget) -> Actions:
    """The actions in a file's bytes; those that do not concern a reader are skipped.

    Args:
        data: Its bytes, as any buffer.
        file: What they are.
        root: Of the table's storage (`storage_root`), for absolute paths.
        budget: Counts what the actions take.

    Raises:
        TableUnreadable: It is damaged, or exceeds the budget.
    """
    return _parse(BytesIO(data), file, root, budget)


def _parse(source: IO[bytes], file: LogFile, root: str, budget: Budget) -> Actions:
    what = f"the Delta log's {file.name}"
    source.seek(0)
    with damaged(what):
        return _Parser(root, what, budget).parse(source, file.last)


@contextmanager
def damaged(what: str) -> Iterator[None]:
    """Turn what parsers raise over damaged bytes into `TableUnreadable`."""
    try:
        yield
    except _PARSER_ERRORS as error:
        detail = f"{type(error).__name__}: {error}"
        raise TableUnreadable(f"{what} is damaged", detail=detail) from None


class _Parser:
    """Turns lines into columns, some megabytes of them at a time: as objects they take far more."""

    def __init__(self, root: str, what: str, budget: Budget) -> None:
        self._root, self._what, self._budget = root, what, budget
        self._rows: dict[str, list[Row]] = {kind: [] for kind in _FILES}
        self._columns: dict[str, list[pa.RecordBatch]] = {kind: [] for kind in _FILES}
        self._singles: dict[str, Mapping[str, Any]] = {}
        self._sidecars: list[Sidecar] = []
        self._counted = 0  # of the sidecars

    def parse(self, source: IO[bytes], version: int) -> Actions:
        pending = first = number = 0
        for number, line in enumerate(self._lines(source)):
            pending += len(line)
            if not line.isspace():
                self._take(orjson.loads(line), number)
            if pending > _PIECE_BYTES:
                self._convert(number + 1 - first)
                pending, first = 0, number + 1
        self._convert(number + 1 - first)
        protocol, metadata = self._singles.get("protocol"), self._singles.get("metaData")
        info = self._singles.get("commitInfo", {})
        return Actions(
            version=version,
            adds=joined_actions(self._columns["add"]),
            removes=joined_actions(self._columns["remove"]),
            cdc=joined_actions(self._columns["cdc"]),
            protocol=None if protocol is None else protocol_of(protocol),
            metadata=None if metadata is None else metadata_of(metadata),
            in_commit_timestamp=timestamp(info.get("inCommitTimestamp")),
            sidecars=tuple(self._sidecars),
            no_op=_is_no_op_merge(info),
        )

    def _lines(self, source: IO[bytes]) -> Iterator[bytes]:
        for line in iter(partial(source.readline, _LONGEST_LINE + 1), b""):
            if len(line) > _LONG_LINE:
                if len(line) > _LONGEST_LINE:
                    raise TableUnreadable(f"{self._what} has a line of more than {_LONGEST_LINE} bytes")
                self._budget.take(self._what, bytes=_OBJECTS * len(line))
            yield line

    def _take(self, action: Mapping[str, Any], line: int) -> None:
        for kind, value in action.items():
            if value is None:
                continue
            if kind in self._rows:
                self._rows[kind].append(action_row(value, line))
            elif kind == "sidecar":
                self._sidecars.append(sidecar_of(value))
            elif kind in _SINGLES:
                self._singles[kind] = value

    def _convert(self, lines: int) -> None:
        """Make columns of the rows so far, and count them with the lines that they come from."""
        filled = {kind: rows for kind, rows in self._rows.items() if rows}
        batches = {kind: action_columns(rows, self._root) for kind, rows in filled.items()}
        size = _COPIES * sum(batch.nbytes for batch in batches.values())
        size += SIDECAR_BYTES * (len(self._sidecars) - self._counted)
        self._counted = len(self._sidecars)
        self._budget.take(self._what, bytes=size, rows=lines)
        for kind, batch in batches.items():
            self._columns[kind].append(batch)
            self._rows[kind] = []


def _is_no_op_merge(info: Mapping[str, Any]) -> bool:
    """A merge that counted no row; writers mark the files that it rewrote as changed all the same."""
    metrics = info.get("operationMetrics")
    if info.get("operation") != "MERGE" or not isinstance(metrics, Mapping):
        return False
    return all(str(metrics.get(name)) == "0" for name in _MERGED_ROWS)
