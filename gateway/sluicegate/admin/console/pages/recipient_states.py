"""The recipients of an administrator with their states, as lists show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.service import RecipientSummary
from sluicegate.admin.identity import Admin
from sluicegate.admin.recipient_access import RecipientAccess

RecipientState = Literal["active", "ending", "no credential", "revoked"]
STATES: tuple[RecipientState, ...] = get_args(RecipientState)


@dataclass(frozen=True, slots=True)
class RecipientStates:
    """Reads recipients, and decides on their states.

    Attributes:
        access: Reads recipients.
        warn_before: Seconds before its expiry from which a profile is shown as ending.
        now: Epoch milliseconds.
    """

    access: RecipientAccess
    warn_before: int
    now: Callable[[], int] = epoch_ms

    async def read(self, admin: Admin) -> list[tuple[RecipientSummary, RecipientState]]:
        """The recipients that an administrator manages, sorted by name."""
        ends = self.now() + self.warn_before * 1000
        return [(each, state_of(each, ends)) for each in await self.access.summaries(admin)]


def state_of(recipient: RecipientSummary, ends: int) -> RecipientState:
    """The state of a recipient.

    Args:
        recipient: The recipient.
        ends: A profile that expires before this time ends soon, epoch milliseconds.
    """
    if recipient.revoked_at is not None:
        return "revoked"
    if recipient.expires_at is None:
        return "no credential"
    return "ending" if recipient.expires_at <= ends else "active"
