"""Commits, compactions and JSON checkpoints: lines of JSON into columns (Delta protocol, "Actions")."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BufferedReader, BytesIO
from typing import IO, TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from sluicegate.api.budget import Budget
from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.delta.log_files.actions import (
    Actions,
    Row,
    action_columns,
    action_row,
    joined_actions,
)
from sluicegate.tables.delta.log_files.names import LogFile, Sidecar, sidecar_of
from sluicegate.tables.delta.protocol import metadata_of, protocol_of
from sluicegate.tables.delta.shape import timestamp

if TYPE_CHECKING:
    from sluicegate.tables.delta.log_files.store import LogStore

_INLINE_BYTES = 64 * 1024
_WHOLE_BYTES = 8 * 1024 * 1024
_PIECE_BYTES = 4 * 1024 * 1024
_LONG_LINE = 1024 * 1024
_LONGEST_LINE = 16 * 1024 * 1024  # the parser blocks all other threads until the end of the line
_OBJECTS = 20  # memory of Python objects per byte of JSON, in the worst case
SIDECAR_BYTES = 250
_COPIES = 2  # memory of the columns while a version is assembled
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
_INFO = "commitInfo"
_SINGLES = frozenset({"protocol", "metaData", _INFO})
_MERGED_ROWS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


async def read_actions(store: LogStore, file: LogFile, root: str, *, files: bool = True) -> Actions:
    """Fetch and parse one file of JSON actions. A large file is processed piece by piece."""
    if file.size <= _WHOLE_BYTES:
        data = await store.read(file.name)
        if len(data) <= _INLINE_BYTES:
            return _parse(BytesIO(data), file, root, store.budget, files)
        source: IO[bytes] = BytesIO(data)
    else:
        await store.budget.admit(file.size)
        source = BufferedReader(store.open(file.name, file.size), _WHOLE_BYTES)
    return await store.budget.run(
        _parse, source, file, root, store.budget, files, limiter=store.decoding
    )


def parse_actions(data: Any, file: LogFile, root: str, budget: Budget) -> Actions:
    """The actions in a file's bytes. Actions that are irrelevant for readers are skipped."""
    return _parse(BytesIO(data), file, root, budget)


def action_batches(
    source: IO[bytes], name: str, root: str, budget: Budget
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The file actions of a file of JSON actions in batches of `ACTION_SCHEMA`, each with its kind.

    The file is never entirely in memory. Arguments are those of `parse_actions`.
    """
    what = f"the Delta log's {name}"
    with damaged(what):
        for piece in _Parser(root, what, budget).pieces(source):
            yield from piece.items()


def _parse(source: IO[bytes], file: LogFile, root: str, budget: Budget, files: bool = True) -> Actions:
    what = f"the Delta log's {file.name}"
    source.seek(0)
    with damaged(what):
        return _Parser(root, what, budget, _FILES if files else ()).parse(source, file.last)


@contextmanager
def damaged(what: str) -> Iterator[None]:
    """Convert exceptions of parsers about damaged bytes into `TableUnreadable`."""
    try:
        yield
    except _PARSER_ERRORS as error:
        detail = f"{type(error).__name__}: {error}"
        raise TableUnreadable(f"{what} is damaged", detail=detail) from None


class _Parser:
    """Converts lines into columns, a few megabytes at a time, because objects take far more memory."""

    def __init__(self, root: str, what: str, budget: Budget, kinds: Collection[str] = _FILES) -> None:
        self._root, self._what, self._budget = root, what, budget
        self._kinds = kinds
        self._rows: dict[str, list[Row]] = {kind: [] for kind in kinds}
        self._columns: dict[str, list[pa.RecordBatch]] = {kind: [] for kind in _FILES}
        self._singles: dict[str, Mapping[str, Any]] = {}
        self._repeats = False
        self._sidecars: list[Sidecar] = []
        self._counted = 0  # of the sidecars

    def pieces(self, source: IO[bytes]) -> Iterator[Mapping[str, pa.RecordBatch]]:
        """The file actions of a few megabytes at a time, by kind."""
        pending = first = number = 0
        for number, line in enumerate(self._lines(source)):
            pending += len(line)
            if not line.isspace():
                self._take(orjson.loads(line), number)
            if pending > _PIECE_BYTES:
                yield self._convert(number + 1 - first)
                pending, first = 0, number + 1
        yield self._convert(number + 1 - first)

    def parse(self, source: IO[bytes], version: int) -> Actions:
        for piece in self.pieces(source):
            for kind, batch in piece.items():
                self._columns[kind].append(batch)
        protocol, metadata = self._singles.get("protocol"), self._singles.get("metaData")
        info = self._singles.get(_INFO, {})
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
            repeats=self._repeats,
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
                self._repeats = self._repeats or (kind in self._singles and kind != _INFO)
                self._singles[kind] = value

    def _convert(self, lines: int) -> Mapping[str, pa.RecordBatch]:
        """Convert the rows so far into columns, and count them together with their lines."""
        filled = {kind: rows for kind, rows in self._rows.items() if rows}
        batches = {kind: action_columns(rows, self._root) for kind, rows in filled.items()}
        size = _COPIES * sum(batch.nbytes for batch in batches.values())
        size += SIDECAR_BYTES * (len(self._sidecars) - self._counted)
        self._counted = len(self._sidecars)
        self._budget.take(self._what, bytes=size, rows=lines)
        self._rows = {kind: [] for kind in self._kinds}
        return batches


def _is_no_op_merge(info: Mapping[str, Any]) -> bool:
    """Whether a merge reports zero rows. Writers mark its rewritten files as changed anyway."""
    metrics = info.get("operationMetrics")
    if info.get("operation") != "MERGE" or not isinstance(metrics, Mapping):
        return False
    return all(str(metrics.get(name)) == "0" for name in _MERGED_ROWS)
