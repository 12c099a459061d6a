"""Warns of profiles that end soon: in the log, as events for plugins, and as a metric."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate.access.recipients.expiring import ExpiringCredential, ExpiringCredentials
from sluicegate.api import Event, Principal
from sluicegate.api.errors import Unavailable
from sluicegate.telemetry.metrics import gauge

log = logging.getLogger(__name__)

KIND = "profile.ending"
"""The kind of the events."""

_INTERVAL = 3600.0  # seconds
_MOST_NAMES = 20


class ProfileWarnings:
    """Reports each credential once, whatever the number of processes and restarts."""

    def __init__(
        self,
        credentials: ExpiringCredentials,
        notify: Callable[[Event], None],
        *,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        self._credentials = credentials
        self._notify = notify
        self._now = now

    async def run(self) -> None:
        """Check now, and then every hour, until canceled."""
        while True:
            try:
                await self.check()
            except Unavailable as error:
                log.warning("profiles that end soon are not checked: %s", error.for_operators)
            await asyncio.sleep(_INTERVAL)

    async def check(self) -> None:
        """Set the metric, and report what was not reported before."""
        found = await self._credentials.find()
        gauge("sluicegate.profiles.ending", len({each.recipient_id for each in found}))
        claimed = await self._credentials.claim(found)
        for each in claimed:
            self._notify(_event(each, self._now()))
        if claimed:
            log.warning("%s; rotate them", _described(claimed))


def _event(ending: ExpiringCredential, now: int) -> Event:
    # The recipient does nothing here, so it has no method and no properties.
    about = Principal(ending.recipient_id, ending.recipient, "")
    attributes: dict[str, str | int | float | bool] = {
        "credential_id": ending.id,
        "credential": ending.kind,
        "expires_at": ending.expires_at,
    }
    return Event(KIND, now, about, attributes)


def _described(claimed: list[ExpiringCredential]) -> str:
    shown = [f"{each.recipient} ({iso_utc(each.expires_at)})" for each in claimed[:_MOST_NAMES]]
    more = len(claimed) - len(shown)
    names = ", ".join(shown) + (f" and {more} more" if more else "")
    return f"the last profiles of these recipients end soon: {names}"
