"""Searches of the audit log that an administrator may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from sluicegate.admin.identity import Admin
from sluicegate.api.errors import InvalidRequest
from sluicegate.audit.records import Outcome
from sluicegate.config.yaml import nearest
from sluicegate.protocols.common.parameters import text, timestamp

if TYPE_CHECKING:
    from sluicegate.audit.reading.query import AuditQuery

AUDIT_FILTERS = (
    *("since", "until", "recipient", "admin", "share", "resource"),
    *("action", "outcome", "rule", "address", "requestId"),
)


def audit_query(admin: Admin, values: Mapping[str, str]) -> AuditQuery:
    """The query of some filters (`AUDIT_FILTERS`) as a client sent them."""
    # The reader is needed only here.
    from sluicegate.audit.reading.query import AuditQuery

    share = text("share", values.get("share"))
    if share is not None:
        admin.check_share(share)
    known: tuple[Outcome, ...] = get_args(Outcome)
    outcome = values.get("outcome")
    found = next((each for each in known if each == outcome), None)
    if outcome is not None and found is None:
        raise InvalidRequest(f"there is no outcome '{outcome[:64]}'{nearest(outcome[:64], known)}")
    return AuditQuery(
        since=timestamp("since", values.get("since")),
        until=timestamp("until", values.get("until")),
        recipient=text("recipient", values.get("recipient")),
        admin=text("admin", values.get("admin")),
        share=share,
        resource=text("resource", values.get("resource")),
        action=text("action", values.get("action")),
        outcome=found,
        rule=text("rule", values.get("rule")),
        address=text("address", values.get("address")),
        request_id=text("requestId", values.get("requestId")),
        shares=admin.shares,
    )
