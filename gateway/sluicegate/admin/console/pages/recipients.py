"""The list of recipients."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.pages.recipient_states import STATES, RecipientStates
from sluicegate.admin.console.paging import listing

_PAGE = 100


class RecipientsPage:
    """Lists recipients, with a search by name, share and state."""

    def __init__(self, recipients: RecipientStates) -> None:
        self._recipients = recipients

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        return [ConsoleRoute("GET", "/recipients", self._list)]

    async def _list(self, call: ConsoleCall) -> Response:
        wanted, text = call.query("filter"), call.query("state")
        state = next((each for each in STATES if each == text), None)
        known = state is not None or not text
        [total] = await self._recipients.count(call.admin, (wanted, state)) if known else [0]
        page = listing(call, range(total), _PAGE, "recipients")
        found = []
        if page.items:
            first = page.items[0]
            found = await self._recipients.read(call.admin, wanted, state, first=first, most=_PAGE)
        return call.page(
            "recipients.html",
            listing=page.of(found),
            filter=wanted,
            state=text,
            states=STATES,
        )
