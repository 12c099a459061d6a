"""Requests for plans (Iceberg REST specification, "PlanTableScanRequest", "FetchScanTasksRequest")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import orjson

from sluicegate.api.errors import InvalidRequest, MalformedRequest
from sluicegate.protocols.common.parameters import integer
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.expressions.parsing import parse_filter
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import Expression
from sluicegate.protocols.iceberg_rest.view import version_of

_MAX_NAMES = 20_000


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Which rows a client wants to read.

    Attributes:
        snapshot: The snapshot to read, or the end of an incremental scan. `None` for the latest.
    """

    snapshot: int | None
    after: int | None
    select: tuple[str, ...]
    filter: Expression
    case_sensitive: bool
    snapshot_schema: bool
    stats_fields: tuple[str, ...]
    min_rows: int | None
    dialect: Dialect
    source: bytes

    @classmethod
    def parse(cls, body: bytes, dialect: Dialect = Dialect.STANDARD) -> Self:
        """Parse a body. An empty one requests the latest snapshot."""
        return cls.of(_object(body), dialect, body)

    @classmethod
    def of(cls, fields: Mapping[str, Any], dialect: Dialect, body: bytes) -> Self:
        """Read the fields of a body, which can differ from its own; raises as `parse`."""
        snapshot, after, end = (_snapshot(fields, name) for name in _SNAPSHOTS)
        if snapshot is not None and (after is not None or end is not None):
            raise InvalidRequest("snapshot-id cannot be combined with start- and end-snapshot-id")
        if (after is None) is not (end is None):
            raise InvalidRequest("start-snapshot-id and end-snapshot-id must be sent together")
        if after is not None and end is not None and after > end:
            raise InvalidRequest("start-snapshot-id must not be after end-snapshot-id")
        return cls(
            snapshot=snapshot if end is None else end,
            after=after,
            select=_names(fields, "select"),
            filter=_filter(fields, dialect),
            case_sensitive=_boolean(fields, "case-sensitive", default=True),
            snapshot_schema=_boolean(fields, "use-snapshot-schema", default=False),
            stats_fields=_names(fields, "stats-fields"),
            min_rows=integer("min-rows-requested", _number(fields, "min-rows-requested")),
            dialect=dialect,
            source=_source(fields, body),
        )

    @property
    def version(self) -> int | None:
        """The table version to plan. `None` for the latest."""
        return None if self.snapshot is None else version_of(self.snapshot)

    @property
    def start_version(self) -> int | None:
        """The version after which an incremental scan starts."""
        return None if self.after is None else version_of(self.after)


def parse_plan_task(body: bytes) -> str:
    """The `plan-task` of a request for its tasks."""
    token = _object(body).get("plan-task")
    if not isinstance(token, str):
        raise InvalidRequest("plan-task must be a string, as a plan returned it")
    return token


_SNAPSHOTS = ("snapshot-id", "start-snapshot-id", "end-snapshot-id")
_FIELDS = (
    "select",
    "filter",
    "case-sensitive",
    "use-snapshot-schema",
    "stats-fields",
    "min-rows-requested",
)


def _source(fields: Mapping[str, Any], body: bytes) -> bytes:
    kept = {name: fields[name] for name in _FIELDS if fields.get(name) is not None}
    try:
        return orjson.dumps(kept)
    except TypeError:  # orjson reads filters that are nested more deeply than those that it writes
        return body


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        fields = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError:
        raise MalformedRequest("the body is not valid JSON") from None
    if not isinstance(fields, dict):
        raise MalformedRequest("the body must be a JSON object")
    return fields


def _filter(fields: Mapping[str, Any], dialect: Dialect) -> Expression:
    if "filter" not in fields:
        return True
    return parse_filter(fields["filter"], null_safe=dialect is Dialect.STANDARD)


def _snapshot(fields: Mapping[str, Any], name: str) -> int | None:
    return integer(name, _number(fields, name), low=1)


def _number(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is not None and type(value) is not int:
        raise InvalidRequest(f"{name} must be a whole number")
    return value


def _boolean(fields: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise InvalidRequest(f"{name} must be true or false")
    return value


def _names(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidRequest(f"{name} must be a list of strings")
    if len(value) > _MAX_NAMES:
        raise InvalidRequest(f"{name} has more than {_MAX_NAMES} names")
    return tuple(dict.fromkeys(value))
