"""The page of a recipient: its grants, limits and credentials, without secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from sluicegate._util.clock import epoch_ms
from sluicegate.access.limits.listing import RecipientUse, recipient_use
from sluicegate.access.recipients.details import oidc_identities
from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.conditions import entity_tag
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.places import RecipientPlace
from sluicegate.admin.recipient_access import RecipientState
from sluicegate.config import Settings
from sluicegate.database import Store

_DAY = 86_400_000
_MOST_CREDENTIALS = 50
_MOST_OFFERED = 1000


class RecipientPage:
    """Shows a recipient."""

    def __init__(
        self, admin: AdminApi, store: Store, settings: Settings, *, now: Callable[[], int] = epoch_ms
    ) -> None:
        self._admin = admin
        self._store = store
        self._settings = settings
        self._now = now

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        return [ConsoleRoute("GET", "/recipients/{recipient}", self._show)]

    async def _show(self, call: ConsoleCall) -> Response:
        place = RecipientPlace(call.name("recipient"))
        content = await self._admin.editor.read(call.admin, place)
        state = await self._admin.recipient_access.state(call.admin, place.recipient)
        async with self._store.read() as connection:
            use = await recipient_use(
                connection, place.recipient, self._settings.limits.recipient, self._now() // _DAY
            )
        can_change = call.admin.has_role("admin")
        granted = set(state.details.shares)
        most = _MOST_OFFERED + len(granted)
        offered = await self._admin.contents.names(call.admin, most=most) if can_change else ()
        return call.page(
            "recipient.html",
            recipient=state.details,
            credentials=state.details.credentials[:_MOST_CREDENTIALS],
            more=max(0, len(state.details.credentials) - _MOST_CREDENTIALS),
            link=state.link,
            limited=limited_access(state),
            use=use,
            concurrent=self._concurrent(use),
            identities=oidc_identities(self._settings.authentication.oidc, state.details.name),
            grace=self._settings.recipients.rotation_grace,
            lifetime=state.details.token_lifetime or self._settings.recipients.token_lifetime,
            link_lifetime=self._settings.recipients.activation_lifetime,
            can_change=can_change,
            offered=[share for share in offered if share not in granted][:_MOST_OFFERED],
            revision=entity_tag(content),
            access_revision=access_revision(state),
        )

    def _concurrent(self, use: RecipientUse) -> int:
        return use.limits.concurrent_requests or self._settings.server.max_requests_per_recipient


def limited_access(state: RecipientState) -> int:
    """How many valid credentials and unused links administrators of only some shares issued."""
    credentials = sum(each.limited for each in state.details.credentials if each.state == "valid")
    link = state.link
    return credentials + (link is not None and link.limited and link.state == "pending")


def access_revision(state: RecipientState) -> str:
    """An entity tag of the credentials of a recipient and of its newest link."""
    details, link = state.details, state.link
    seen: dict[str, Any] = {
        "id": details.id,
        "revoked_at": details.revoked_at,
        "credentials": [[each.id, each.state, each.expires_at] for each in details.credentials],
        "link": None if link is None else [link.state, link.expires_at, link.used_at],
    }
    return entity_tag(seen)
