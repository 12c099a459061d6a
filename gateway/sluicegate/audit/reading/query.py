"""Selects records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate._util.clock import iso_utc
from sluicegate.audit.encoding import record_of, values_of
from sluicegate.audit.records import AuditRecord, Outcome
from sluicegate.database.names import name_key


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record, and its place in the chain."""

    seq: int
    mac: str
    record: AuditRecord
    chain: int = 0


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Selects records. Attributes that are `None` are ignored.

    Attributes:
        since: Made at or after this time, epoch milliseconds.
        until: Made before this time, epoch milliseconds.
        shares: Only records of these shares, as casefolded names.
    """

    since: int | None = None
    until: int | None = None
    recipient: str | None = None
    admin: str | None = None
    share: str | None = None
    resource: str | None = None
    action: str | None = None
    outcome: Outcome | None = None
    rule: str | None = None
    address: str | None = None
    request_id: str | None = None
    shares: Collection[str] | None = None

    def selects(self, record: AuditRecord) -> bool:
        """Whether a record is selected."""
        return (
            (self.since is None or record.at >= self.since)
            and (self.until is None or record.at < self.until)
            and self._is_by(record)
            and self._is_about(record)
            and (self.action is None or record.action.casefold() == self.action.casefold())
            and self.outcome in (None, record.outcome)
            and (self.rule is None or _begins(record.rule, self.rule))
            and self.address in (None, record.address)
            and self.request_id in (None, record.request_id)
        )

    def _is_by(self, record: AuditRecord) -> bool:
        if self.recipient is not None and (
            record.actor_kind != "recipient" or not _is_named(record.actor, self.recipient)
        ):
            return False
        return self.admin is None or (
            record.actor_kind in ("admin", "command") and _is_named(record.actor, self.admin)
        )

    def _is_about(self, record: AuditRecord) -> bool:
        if self.shares is not None and (
            record.share is None or name_key(record.share) not in self.shares
        ):
            return False
        if self.share is not None and not _is_named(record.share, self.share):
            return False
        if self.resource is None:
            return True
        name = name_key(record.resource or "")
        prefix = name_key(self.resource)
        return name == prefix or name.startswith(f"{prefix}.")


def stored_record(line: bytes) -> StoredRecord:
    """Return the record in a line of a chain."""
    values = orjson.loads(line)
    try:
        return StoredRecord(values["seq"], values["mac"], record_of(values), values.get("chain", 0))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a line of an audit log: {error}") from None


def shown(stored: StoredRecord) -> dict[str, Any]:
    """Return the values of a record, as the Admin API and commands show it."""
    times = {"at": iso_utc(stored.record.at)}
    place = {"chain": stored.chain, "seq": stored.seq}
    return {**place, **values_of(stored.record), **times, "mac": stored.mac}


def select_lines(lines: Iterable[bytes], query: AuditQuery) -> Iterator[StoredRecord]:
    """The selected records of lines. Others than records, which `verify` reports, are left out."""
    needles = [orjson.dumps(each) for each in (query.request_id, query.address) if each is not None]
    for line in lines:
        if any(needle not in line for needle in needles):
            continue  # much faster than decoding the line
        try:
            stored = stored_record(line)
        except ValueError:
            continue
        if query.selects(stored.record):
            yield stored


def _is_named(actual: str | None, wanted: str) -> bool:
    return actual is not None and name_key(actual) == name_key(wanted)


def _begins(actual: str | None, wanted: str) -> bool:
    return actual is not None and name_key(actual).startswith(name_key(wanted))
