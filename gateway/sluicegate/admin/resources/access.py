"""The state of recipients: their grants, credentials, identities and sessions, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.responses import Response

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate._util.units import parse_duration
from sluicegate.access.activation.link import Link
from sluicegate.access.recipients.details import oidc_identities
from sluicegate.access.recipients.summaries import RecipientSelection, RecipientSummary
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.dependencies import AdminServices
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.identity import Admin
from sluicegate.admin.recipient_access import RecipientAccess
from sluicegate.api import Principal, UnsupportedOperation
from sluicegate.api.errors import InvalidRequest
from sluicegate.audit.trail import note_changes
from sluicegate.config import Settings
from sluicegate.database.names import name_key
from sluicegate.protocols.common.pagination import page, read_page
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.telemetry.redaction import redact
from sluicegate.vending.sessions import SessionsOutcome

_PATH = "/recipients/{recipient}"


class AccessResource:
    """Serves the state of recipients."""

    def __init__(
        self,
        access: RecipientAccess,
        services: AdminServices,
        settings: Settings,
        pages: TokenSigner,
    ) -> None:
        self._access = access
        self._services = services
        self._issuers = settings.authentication.oidc
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/access", self._list, "viewer", "listAccess"),
            AdminRoute("GET", f"{_PATH}/access", self._show, "viewer", "getAccess"),
            AdminRoute("POST", f"{_PATH}/sessions/end", self._end_sessions, "admin", "endSessions"),
        ]

    async def _list(self, call: AdminCall) -> Response:
        within, request = call.query("ending").get("ending"), call.page("ending")
        if within is None:
            shown = await read_page(partial(self._part, call.admin), _by_name, request, self._pages)
        else:
            found = await self._access.ending(call.admin, epoch_ms() + _seconds(within) * 1000)
            shown = page(found, _by_end, request, self._pages)
        return answered(shown.shown(lambda each: _with_times(asdict(each))))

    async def _part(self, admin: Admin, after: str | None, count: int) -> list[RecipientSummary]:
        return await self._access.summaries(admin, RecipientSelection(after=after, limit=count))

    async def _show(self, call: AdminCall) -> Response:
        state = await self._access.state(call.admin, call.name("recipient"))
        found, link = state.details, state.link
        shown = _with_times(asdict(found))
        shown["credentials"] = [_with_times(each) for each in shown["credentials"]]
        identities = oidc_identities(self._issuers, found.name)
        return answered(
            shown
            | {
                "oidc": [asdict(each) for each in identities],
                "activation_link": None if link is None else _link(link),
            }
        )

    async def _end_sessions(self, call: AdminCall) -> Response:
        found = (await self._access.state(call.admin, call.name("recipient"))).details
        principal = Principal(found.id, found.name, "command")
        outcomes = [each async for each in self._services.end_sessions(principal, epoch_ms())]
        note_changes(_ended(found.name, outcomes))
        return answered({"items": [self._outcome(each) for each in outcomes]})

    def _outcome(self, outcome: SessionsOutcome) -> dict[str, Any]:
        error = outcome.error
        return {
            "storage": outcome.storage,
            "ended": outcome.ended is not None and outcome.ended.applied,
            "instructions": outcome.ended and outcome.ended.instructions,
            "error": error and redact(self._services.describe(error)),
            "supported": not isinstance(error, UnsupportedOperation),
        }


def _ended(recipient: str, outcomes: Iterable[SessionsOutcome]) -> Iterator[str]:
    for each in outcomes:
        if each.ended is not None and each.ended.applied:
            yield f"- temporary credentials of recipient {recipient} in {each.storage}"


def _by_name(summary: RecipientSummary) -> str:
    return name_key(summary.name)


def _by_end(summary: RecipientSummary) -> str:
    return f"{summary.expires_at or 0:020d}\n{name_key(summary.name)}"


def _seconds(duration: str) -> int:
    try:
        return parse_duration(duration)
    except ValueError as error:
        raise InvalidRequest(f"ending: {error}") from None


def _link(link: Link) -> dict[str, object]:
    return {
        "state": link.state,
        "expires_at": iso_utc(link.expires_at),
        "used_at": None if link.used_at is None else iso_utc(link.used_at),
    }


def _with_times(shown: dict[str, Any]) -> dict[str, Any]:
    """Replace epoch milliseconds by ISO 8601."""
    times = {key: iso_utc(at) for key, at in shown.items() if key.endswith("_at") and at is not None}
    return shown | times
