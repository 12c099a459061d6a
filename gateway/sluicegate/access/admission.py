"""The last step of every way to prove oneself: is this credential, is this recipient, let in now?"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from sluicegate.errors import PermissionDenied, Unauthenticated
from sluicegate.nouns import Principal
from sluicegate.store.reads import CredentialRecord, Network, RecipientRecord


def check_credential(record: CredentialRecord, what: str, now: int) -> None:
    """Make sure that a credential is valid.

    Args:
        record: The credential.
        what: What it is called, for the error: "bearer token", "OAuth client".
        now: Epoch milliseconds.

    Raises:
        Unauthenticated: It was revoked or has expired.
    """
    if record.revoked_at is not None and record.revoked_at <= now:
        raise Unauthenticated(f"the {what} was revoked; ask the provider for a new profile")
    if record.expires_at <= now:
        raise Unauthenticated(f"the {what} has expired; ask the provider for a new profile")


def admit(recipient: RecipientRecord, method: str, address: str | None) -> Principal:
    """The principal of a recipient that has proved itself.

    Args:
        recipient: Who it is.
        method: How it proved itself, for audit.
        address: IP address of the caller, or `None` where it is not known.

    Raises:
        Unauthenticated: The recipient was revoked.
        PermissionDenied: It may not call from this address.
    """
    if recipient.revoked_at is not None:
        raise Unauthenticated("the recipient was revoked; ask the provider to let it in again")
    if recipient.allow_from and not _is_within(address, recipient.allow_from):
        raise PermissionDenied(
            f"the recipient {recipient.name!r} may not call from this address",
            detail=f"called from {address}",
        )
    return Principal(recipient.id, recipient.name, method, address, recipient.properties)


def _is_within(address: str | None, networks: tuple[Network, ...]) -> bool:
    try:
        caller = ip_address(address or "")
    except ValueError:
        return False
    if isinstance(caller, IPv6Address) and caller.ipv4_mapped:
        caller = caller.ipv4_mapped
    return any(caller in network for network in networks)
