"""Keys that sign shared access signatures."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Delegation:
    """Identity and validity of a user delegation key, in Azure's notation.

    Attributes:
        start: Start of the key's validity, ISO 8601 in UTC.
    """

    oid: str
    tid: str
    start: str
    expiry: str
    service: str
    version: str


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A signing key; `repr` shows no secret.

    Attributes:
        value: The key's bytes.
        delegation: The parts of a user delegation key that its signatures contain; `None` for an
            account key.
        expires_at: Expiry of its signatures, epoch milliseconds; `None` if they don't expire.
    """

    value: bytes = field(repr=False)
    delegation: Delegation | None = None
    expires_at: int | None = None
