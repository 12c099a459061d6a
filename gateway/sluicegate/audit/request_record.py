"""Makes the record of a request from what its steps contributed, and from its response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sluicegate._util.printable import printable
from sluicegate.api.errors import deciding_rule
from sluicegate.audit.records import AuditRecord, Outcome
from sluicegate.http.concurrency_limit import CONCURRENCY

if TYPE_CHECKING:
    from sluicegate.audit.trail import Trail
    from sluicegate.telemetry.context import RequestInfo

_AUTHENTICATED = "authentication"
_NOT_AUTHENTICATED = frozenset(("anonymous", "command"))
# Parameters of paths that contain signatures, tokens or the path of a file.
_UNNAMED = frozenset({"link", "query_id", "plan_id", "path"})
_LONGEST = 500  # characters; clients choose the names in paths
_NOTHING: Mapping[str, object] = {}


def request_record(
    action: str,
    scope: Mapping[str, Any],
    trail: Trail,
    request: RequestInfo | None,
    status: int | None,
    now: int,
) -> AuditRecord:
    """The record of a request."""
    client = scope.get("client")
    allowed = status is None or status < 400
    error = None if allowed or request is None else request.error
    refused_by = None if error is None else deciding_rule(error)
    method, credential = trail.method, trail.credential
    names: Mapping[str, Any] = scope.get("path_params") or _NOTHING
    return AuditRecord(
        at=now,
        request_id=None if request is None else request.id,
        actor_kind=trail.actor_kind,
        actor=trail.actor,
        actor_id=trail.actor_id,
        method=method if credential is None else f"{method} {credential}",
        address=client[0] if client else None,
        action=action,
        resource=_resource(trail, names),
        outcome="allowed" if allowed else _outcome(status, refused_by),
        status=status,
        rule=(trail.rule or _sender_rule(trail)) if allowed else refused_by,
        issued=(trail.issued or _NOTHING) if allowed else _NOTHING,
        changes=trail.changes,
        share=trail.grant or _share(names),
    )


def _outcome(status: int | None, rule: str | None) -> Outcome:
    # Too many requests are refused on purpose, whatever the status; other errors of the gateway aren't.
    return "refused" if (status or 0) < 500 or rule == CONCURRENCY else "failed"


def _sender_rule(trail: Trail) -> str | None:
    """What allows a request that needs no grant, such as a listing of shares."""
    return trail.method if trail.actor_kind in _NOT_AUTHENTICATED else _AUTHENTICATED


def _resource(trail: Trail, names: Mapping[str, Any]) -> str | None:
    """The name as it was found, or else as it was requested."""
    if trail.resource is not None:
        return _text(trail.resource)
    if not names:
        return None
    parts = [str(value) for name, value in names.items() if name not in _UNNAMED]
    if trail.grant is not None and "share" in names:
        parts[0] = trail.grant
    return _text(".".join(parts)) or None


def _share(names: Mapping[str, Any]) -> str | None:
    share = names.get("share")
    return None if share is None else _text(str(share))


def _text(value: str) -> str:
    """A bounded text that each log can store, because clients can choose it."""
    value = value[:_LONGEST]
    return value if value.isprintable() else printable(value)
