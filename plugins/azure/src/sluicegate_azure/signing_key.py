"""Keys that sign shared access signatures."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Delegation:
    """Who a user delegation key acts for and when it is valid, as Azure spelled it.

    Attributes:
        oid: Object id of the identity.
        tid: Its tenant.
        start: When the key begins, ISO 8601 in UTC.
        expiry: When it ends, likewise.
        service: `b`, the blob service.
        version: The service version that made the key.
    """

    oid: str
    tid: str
    start: str
    expiry: str
    service: str
    version: str


@dataclass(frozen=True, slots=True)
class SigningKey:
    """What signs; `repr` shows no secret.

    Attributes:
        value: The key's bytes.
        delegation: What its signatures carry of a user delegation key; `None` for an account key.
        expires_at: When its signatures end, epoch milliseconds; `None` where they do not.
    """

    value: bytes = field(repr=False)
    delegation: Delegation | None = None
    expires_at: int | None = None
