"""The list of recipients."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.access.recipients.service import RecipientSummary
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.pages.recipient_states import STATES, RecipientStates
from sluicegate.admin.console.paging import listing
from sluicegate.database.names import name_key

_PAGE = 100


class RecipientsPage:
    """Lists recipients, with a search by name, share and state.

    Args:
        recipients: Reads recipients with their states.
    """

    def __init__(self, recipients: RecipientStates) -> None:
        self._recipients = recipients

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        return [ConsoleRoute("GET", "/recipients", self._list)]

    async def _list(self, call: ConsoleCall) -> Response:
        wanted, state = name_key(call.query("filter")), call.query("state")
        found = await self._recipients.read(call.admin)
        chosen = [each for each in found if _matches(each[0], wanted) and state in ("", each[1])]
        return call.page(
            "recipients.html",
            listing=listing(call, chosen, _PAGE, "recipients"),
            filter=call.query("filter"),
            state=state,
            states=STATES,
        )


def _matches(recipient: RecipientSummary, wanted: str) -> bool:
    return any(wanted in name_key(name) for name in (recipient.name, *recipient.shares))
