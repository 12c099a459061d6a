"""The last step of every authentication: checks the credential, the recipient and its address."""

from __future__ import annotations

import hmac

from sluicegate._util.networks import is_within
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.secrets import digest
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.api.principals import Principal
from sluicegate.audit.trail import note_recipient
from sluicegate.database.reads import CredentialRecord, RecipientRecord


async def find_token(grants: Grants, token: str) -> CredentialRecord | None:
    """The bearer token in a request, whether or not it is still valid; `None` if it is unknown."""
    presented = digest(token)
    record = await grants.token(presented)
    if record is None or not hmac.compare_digest(record.digest, presented):
        return None
    return record


def check_token(record: CredentialRecord, address: str | None, now: int) -> Principal:
    """Check that a bearer token and its recipient are valid, and return the principal."""
    check_credential(record, "bearer token", "bearer", now)
    return check_recipient(record.recipient, "bearer", address, record.id)


def check_credential(record: CredentialRecord, what: str, method: str, now: int) -> None:
    """Check that a credential is valid."""
    if (problem := credential_problem(record, what, now)) is not None:
        note_recipient(record.recipient.name, record.recipient.id, method, record.id)
        raise problem


def credential_problem(record: CredentialRecord, what: str, now: int) -> Unauthenticated | None:
    """The error of `check_credential`, or `None` if the credential is valid."""
    if record.revoked_at is not None and record.revoked_at <= now:
        return Unauthenticated(f"the {what} was revoked; ask the provider for a new profile")
    if record.expires_at <= now:
        return Unauthenticated(f"the {what} has expired; ask the provider for a new profile")
    return None


def check_recipient(
    recipient: RecipientRecord, method: str, address: str | None, credential: str | None = None
) -> Principal:
    """Check that a recipient has access, and return its principal."""
    note_recipient(recipient.name, recipient.id, method, credential)
    problem = revocation_problem(recipient) or network_problem(recipient, address)
    if problem is not None:
        raise problem
    return Principal(recipient.id, recipient.name, method, address, recipient.properties)


def revocation_problem(recipient: RecipientRecord) -> Unauthenticated | None:
    """The error for a revoked recipient, or `None` if the recipient is not revoked."""
    if recipient.revoked_at is None:
        return None
    return Unauthenticated("the recipient was revoked; ask the provider to let it in again")


def network_problem(recipient: RecipientRecord, address: str | None) -> PermissionDenied | None:
    """The error for a sender outside of a recipient's networks, or `None` if its address is allowed."""
    if not recipient.allow_from or is_within(address, recipient.allow_from):
        return None
    return PermissionDenied(
        f"the recipient {recipient.name!r} may not call from this address",
        detail=f"called from {address}",
    ).decided_by("network")


def check_current(record: RecipientRecord | None, principal: Principal) -> Principal:
    """Check that a principal from an earlier authentication still has access.

    Returns:
        The principal as it would be now, with the recipient's current properties.
    """
    if record is None or record.id != principal.id:
        raise Unauthenticated("the recipient no longer exists; contact the provider")
    return check_recipient(record, principal.method, principal.address)
