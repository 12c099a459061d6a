"""The limits of recipients, and what they were offered on a day."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from starlette.responses import Response

from sluicegate.access.limits.rows import RecipientUse, list_use
from sluicegate.access.recipients.summaries import RecipientSelection
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.content_queries import managed_recipients
from sluicegate.api.errors import InvalidRequest
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.database.names import name_key
from sluicegate.protocols.common.pagination import read_page
from sluicegate.signing.opaque_tokens import TokenSigner

_EPOCH = date(1970, 1, 1)


class LimitsResource:
    """Serves `/limits`."""

    def __init__(self, store: Store, settings: Settings, pages: TokenSigner) -> None:
        self._store = store
        self._defaults = settings.limits.recipient
        self._concurrent = settings.server.max_requests_per_recipient
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The route."""
        return [AdminRoute("GET", "/limits", self._list, "viewer", "listLimits")]

    async def _list(self, call: AdminCall) -> Response:
        day = _day(call.query("day").get("day"))

        async def read(after: str | None, most: int) -> list[RecipientUse]:
            selection = RecipientSelection(managed_recipients(call.admin), after=after, limit=most)
            async with self._store.read() as connection:
                return await list_use(connection, self._defaults, (day - _EPOCH).days, selection)

        request = call.page("day")
        shown = await read_page(read, lambda each: name_key(each.name), request, self._pages)
        return answered(shown.shown(lambda each: self._shown(each, day)))

    def _shown(self, use: RecipientUse, day: date) -> dict[str, Any]:
        allowed, rate = use.limits, use.limits.rate
        return {
            "recipient": use.name,
            "limits": {
                "requests_per_minute": rate and rate.per_minute,
                "burst": rate and rate.burst,
                "concurrent_requests": allowed.concurrent_requests or self._concurrent,
                "files_per_day": allowed.files_per_day,
                "bytes_per_day": allowed.bytes_per_day,
            },
            "day": day.isoformat(),
            "files": use.offered.files if allowed.daily else None,
            "bytes": use.offered.bytes if allowed.daily else None,
        }


def _day(value: str | None) -> date:
    if value is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise InvalidRequest("day must be a date, such as 2026-11-21") from None
