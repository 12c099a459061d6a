"""Audit records, and the interface of the log that stores them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

ActorKind = Literal["recipient", "admin", "client", "command", "anonymous", "gateway"]
"""`client`: a client of the delegation service. `command`: a command on the operator's machine.
`anonymous`: a request that was not authenticated.
`gateway`: the gateway itself, in records about the audit log."""
Outcome = Literal["allowed", "refused", "failed"]
"""`failed`: no decision was possible, for example because a catalog did not respond."""


# Not frozen: each response waits for its record, and creating a frozen one takes twice as long.
@dataclass(slots=True)
class AuditRecord:
    """One decision. It contains no secrets, and is never changed.

    Attributes:
        at: Time of the decision, epoch milliseconds.
        status: Status of the response; `None` for a command, and before a request changes something.
    """

    at: int
    request_id: str | None
    actor_kind: ActorKind
    actor: str | None
    actor_id: str | None
    method: str | None
    address: str | None
    action: str
    resource: str | None
    outcome: Outcome
    status: int | None
    rule: str | None
    issued: Mapping[str, object] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    share: str | None = None


class AuditLog(Protocol):
    """Stores records. Its records are in the order in which they were written."""

    async def write(self, record: AuditRecord) -> None:
        """Store a record, and return when it is durable."""
