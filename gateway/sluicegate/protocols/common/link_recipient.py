"""The recipient that a link of the gateway was issued to."""

from __future__ import annotations

from sluicegate.access.authentication.recipient_checks import check_recipient
from sluicegate.access.grants import Grants
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.api.principals import Principal

_METHOD = "link"


async def link_recipient(
    grants: Grants, name: str, recipient_id: str, address: str | None
) -> Principal:
    """The recipient, if access is allowed now.

    Args:
        grants: Looks up recipients.
        name: The recipient's name when the link was issued.
        recipient_id: The recipient's id. Another recipient with the same name is rejected.
        address: IP address of the client that opens the link.

    Raises:
        PermissionDenied: The recipient was revoked or removed, or is not allowed to call from this
            address.
    """
    record = await grants.recipient(name)
    if record is None or record.id != recipient_id:
        missing = PermissionDenied("the recipient of this link no longer exists")
        raise missing.decided_by("authentication")
    try:
        return check_recipient(record, _METHOD, address)
    except Unauthenticated as error:
        raise PermissionDenied(error.message).decided_by("authentication") from error
