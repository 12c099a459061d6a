"""The list of recipients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from starlette.responses import Response

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.service import RecipientSummary
from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.paging import listing
from sluicegate.database.names import name_key

_PAGE = 100
RecipientState = Literal["active", "ending", "no credential", "revoked"]


class RecipientsPage:
    """Lists recipients, with a search by name, share and state.

    Args:
        admin: The services of the Admin API.
        warn_before: Seconds before its expiry from which a profile is shown as ending.
        now: Epoch milliseconds.
    """

    def __init__(self, admin: AdminApi, warn_before: int, *, now: Callable[[], int] = epoch_ms) -> None:
        self._admin = admin
        self._warn_before = warn_before
        self._now = now

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        return [ConsoleRoute("GET", "/recipients", self._list)]

    async def _list(self, call: ConsoleCall) -> Response:
        ends = self._now() + self._warn_before * 1000
        wanted, state = name_key(call.query("filter")), call.query("state")
        summaries = await self._admin.recipient_access.summaries(call.admin)
        found = [(each, state_of(each, ends)) for each in summaries if _matches(each, wanted)]
        chosen = [pair for pair in found if state in ("", pair[1])]
        return call.page(
            "recipients.html",
            listing=listing(call, chosen, _PAGE, "recipients"),
            filter=call.query("filter"),
            state=state,
            states=("active", "ending", "no credential", "revoked"),
        )


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


def _matches(recipient: RecipientSummary, wanted: str) -> bool:
    return any(wanted in name_key(name) for name in (recipient.name, *recipient.shares))
