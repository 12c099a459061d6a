"""The list of recipients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import ColumnElement, and_, true
from starlette.responses import Response

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.summaries import (
    RecipientSelection,
    RecipientSummary,
    ends,
    has_valid,
    last_expiry,
    named_or_reads,
)
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.paging import listing
from sluicegate.admin.identity import Admin
from sluicegate.admin.recipient_access import RecipientAccess
from sluicegate.database.tables import recipients

RecipientState = Literal["active", "ending", "no credential", "revoked"]
STATES: tuple[RecipientState, ...] = get_args(RecipientState)


@dataclass(frozen=True, slots=True)
class RecipientStates:
    """Reads recipients, and decides on their states.

    Attributes:
        warn_before: Seconds before its expiry from which a profile is shown as ending.
        now: Epoch milliseconds.
    """

    access: RecipientAccess
    warn_before: int
    now: Callable[[], int] = epoch_ms

    async def count(self, admin: Admin, *chosen: tuple[str, RecipientState | None]) -> list[int]:
        """The numbers of the recipients that `read` would return without a limit."""
        return await self.access.count(admin, *(self._where(*each) for each in chosen))

    async def read(
        self,
        admin: Admin,
        text: str,
        state: RecipientState | None,
        *,
        first: int = 0,
        most: int,
        by_end: bool = False,
    ) -> list[tuple[RecipientSummary, RecipientState]]:
        """A part of the recipients that an administrator manages, sorted by name."""
        order = (last_expiry(self.now()),) if by_end else ()
        selection = RecipientSelection(self._where(text, state), order=order, offset=first, limit=most)
        found = await self.access.summaries(admin, selection)
        return [(each, state_of(each, self._soon)) for each in found]

    @property
    def _soon(self) -> int:
        return self.now() + self.warn_before * 1000

    def _where(self, text: str, state: RecipientState | None) -> ColumnElement[bool]:
        """See `state_of`."""
        now = self.now()
        active = recipients.c.revoked_at.is_(None)
        states = {
            None: true(),
            "revoked": ~active,
            "no credential": and_(active, ~has_valid(now, now)),
            "ending": ends(now, self._soon),
            "active": and_(active, has_valid(now, self._soon)),
        }
        return and_(states[state], named_or_reads(text) if text else true())


def state_of(recipient: RecipientSummary, ends: int) -> RecipientState:
    """The state of a recipient."""
    if recipient.revoked_at is not None:
        return "revoked"
    if recipient.expires_at is None:
        return "no credential"
    return "ending" if recipient.expires_at <= ends else "active"


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
