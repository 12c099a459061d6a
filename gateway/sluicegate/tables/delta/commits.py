"""Commits, compactions and JSON checkpoints: lines of JSON into columns (Delta protocol, "Actions")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

import anyio
import orjson
import pyarrow as pa

from sluicegate.errors import TableUnreadable
from sluicegate.tables.delta.actions import Actions, Row, action_columns, action_row
from sluicegate.tables.delta.names import LogFile, Sidecar, sidecar_of
from sluicegate.tables.delta.protocol import metadata_of, protocol_of

if TYPE_CHECKING:
    from sluicegate.tables.delta.store import LogStore

_INLINE_BYTES = 64 * 1024
_PARSER_ERRORS = (
    AttributeError,
    KeyError,
    OSError,
    OverflowError,
    TypeError,
    ValueError,
    pa.ArrowException,
)
_SINGLES = frozenset({"protocol", "metaData", "commitInfo"})
_MERGED_ROWS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


async def read_actions(store: LogStore, file: LogFile, root: str) -> Actions:
    """Fetch and parse one file of JSON actions.

    Raises:
        ObjectMissing: It is gone.
        TableUnreadable: It is damaged.
        StorageError: The store does not answer or refuses.
    """
    data = await store.read(file.name)
    if len(data) <= _INLINE_BYTES:
        return parse_actions(data, file, root)
    return await anyio.to_thread.run_sync(parse_actions, data, file, root)


def parse_actions(data: Any, file: LogFile, root: str) -> Actions:
    """The actions in a file's bytes; those that do not concern a reader are skipped.

    Args:
        data: Its bytes, as any buffer.
        file: What they are.
        root: Of the table's storage (`storage_root`), for absolute paths.

    Raises:
        TableUnreadable: It is damaged.
    """
    with damaged(f"the Delta log's {file.name}"):
        return _Parser().parse(data, file.last, root)


@contextmanager
def damaged(what: str) -> Iterator[None]:
    """Turn what parsers raise over damaged bytes into `TableUnreadable`."""
    try:
        yield
    except _PARSER_ERRORS as error:
        detail = f"{type(error).__name__}: {error}"
        raise TableUnreadable(f"{what} is damaged", detail=detail) from None


class _Parser:
    def __init__(self) -> None:
        self._files: dict[str, list[Row]] = {"add": [], "remove": [], "cdc": []}
        self._singles: dict[str, Mapping[str, Any]] = {}
        self._sidecars: list[Sidecar] = []

    def parse(self, data: Any, version: int, root: str) -> Actions:
        for number, line in enumerate(BytesIO(data)):
            if not line.isspace():
                self._take(orjson.loads(line), number)
        protocol, metadata = self._singles.get("protocol"), self._singles.get("metaData")
        info = self._singles.get("commitInfo", {})
        return Actions(
            version=version,
            adds=action_columns(self._files["add"], root),
            removes=action_columns(self._files["remove"], root),
            cdc=action_columns(self._files["cdc"], root),
            protocol=None if protocol is None else protocol_of(protocol),
            metadata=None if metadata is None else metadata_of(metadata),
            in_commit_timestamp=info.get("inCommitTimestamp"),
            sidecars=tuple(self._sidecars),
            no_op=_is_no_op_merge(info),
        )

    def _take(self, action: Mapping[str, Any], line: int) -> None:
        for kind, value in action.items():
            if value is None:
                continue
            if kind in self._files:
                self._files[kind].append(action_row(value, line))
            elif kind == "sidecar":
                self._sidecars.append(sidecar_of(value))
            elif kind in _SINGLES:
                self._singles[kind] = value


def _is_no_op_merge(info: Mapping[str, Any]) -> bool:
    """A merge that counted no row; writers mark the files that it rewrote as changed all the same."""
    metrics = info.get("operationMetrics")
    if info.get("operation") != "MERGE" or not isinstance(metrics, Mapping):
        return False
    return all(str(metrics.get(name)) == "0" for name in _MERGED_ROWS)
