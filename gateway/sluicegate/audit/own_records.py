"""Records that the gateway writes about the audit log itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sluicegate._util.clock import epoch_ms
from sluicegate.audit.encoding import encode
from sluicegate.audit.records import AuditRecord, Outcome

GAP = "auditGap"
DELETED = "auditRecordsDeleted"
REPAIRED = "auditFileRepaired"
BROKEN = "auditChainBroken"
HEADS = "auditHeads"


class LogEntry(NamedTuple):
    """An encoded record.

    Attributes:
        at: Time of the decision, epoch milliseconds.
    """

    body: bytes
    at: int


def gap(count: int, since: int, until: int) -> LogEntry:
    """Records of decisions between two times were lost, because they could not be written."""
    return _entry(GAP, "failed", {"records": count, "since": since, "until": until})


def deleted(count: int, through: str, last_at: int | None, because: Mapping[str, int]) -> LogEntry:
    """Records were deleted because of their age, or of the number of files.

    Args:
        because: `before`, the time from which on records stay, epoch milliseconds; or `keep`, the
            number of files.
    """
    issued = {"records": count, "through": through, "last_at": last_at, **because}
    return _entry(DELETED, "allowed", issued)


def repaired(file: str, offset: int, removed: bytes) -> LogEntry:
    """The incomplete last line of a file was removed, which no request has waited for."""
    text = removed[:4096].decode(errors="backslashreplace")
    return _entry(REPAIRED, "allowed", {"file": file, "offset": offset, "removed": text})


def broken(reason: str, found: str) -> LogEntry:
    """The end of the chain was not what the gateway had written."""
    return _entry(BROKEN, "failed", {"after": found}, rule=reason)


def heads(ends: Mapping[int, str]) -> LogEntry:
    """Where other chains ended."""
    return _entry(HEADS, "allowed", {"heads": {str(chain): end for chain, end in ends.items()}})


def _entry(
    action: str, outcome: Outcome, issued: Mapping[str, object], rule: str | None = None
) -> LogEntry:
    at = epoch_ms()
    record = AuditRecord(
        at=at,
        request_id=None,
        actor_kind="gateway",
        actor=None,
        actor_id=None,
        method=None,
        address=None,
        action=action,
        resource=None,
        outcome=outcome,
        status=None,
        rule=rule,
        issued=issued,
    )
    return LogEntry(encode(record), at)
