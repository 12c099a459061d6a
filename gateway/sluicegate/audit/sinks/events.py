"""Sends records to plugins as events."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from sluicegate.api import Event, Principal
from sluicegate.audit.records import AuditRecord

log = logging.getLogger(__name__)

_NAMES = ("request_id", "address", "resource", "share", "outcome", "status", "rule", "actor_kind")


@dataclass(frozen=True, slots=True)
class EventSink:
    """Sends each record as an event `audit.ACTION`. Plugins that fail lose it."""

    notify: Callable[[Event], None]

    def publish(self, record: AuditRecord) -> None:
        """Send a record. This never raises."""
        try:
            self.notify(_event(record))
        except Exception as error:
            log.warning("an event of the audit log was not sent: %s", type(error).__name__)


def _event(record: AuditRecord) -> Event:
    values = {name: getattr(record, name) for name in _NAMES}
    issued = {f"issued.{name}": value for name, value in record.issued.items()}
    known = {
        name: value
        for name, value in (values | issued).items()
        if isinstance(value, str | int | float | bool)
    }
    principal = None
    if record.actor is not None and record.actor_kind in ("recipient", "admin"):
        principal = Principal(record.actor_id or record.actor, record.actor, record.method or "")
    return Event(f"audit.{record.action}", record.at, principal, known)
