"""Finds recipients whose last valid credential ends soon, and makes sure that each is reported once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, func, select, update

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate.access.recipients.summaries import RecipientSummary
from sluicegate.api import Event, Principal
from sluicegate.api.errors import Unavailable
from sluicegate.database import Store
from sluicegate.database.names import name_key
from sluicegate.database.tables import recipients, tokens
from sluicegate.telemetry.metrics import gauge

# Credentials in one statement: SQLite limits the number of its parameters.
_BATCH = 500


@dataclass(frozen=True, slots=True)
class ExpiringCredential:
    """The last valid credential of a recipient, which ends soon.

    Attributes:
        expires_at: Epoch milliseconds.
    """

    id: str
    kind: str
    expires_at: int
    recipient_id: str
    recipient: str
    warned: bool


def expiring(summaries: Iterable[RecipientSummary], until: int) -> list[RecipientSummary]:
    """The recipients whose last valid credential ends before a time, the first to end first.

    A recipient with a newer credential that lasts is left out, as are revoked recipients and those
    without a valid credential.
    """
    found = [(each.expires_at, each) for each in summaries if each.revoked_at is None]
    ends = [(at, each) for at, each in found if at is not None and at <= until]
    return [each for _, each in sorted(ends, key=lambda pair: (pair[0], name_key(pair[1].name)))]


class ExpiringCredentials:
    """Reads and marks credentials that end soon."""

    def __init__(self, store: Store, within: int, *, now: Callable[[], int] = epoch_ms) -> None:
        self._store = store
        self._within = within
        self._now = now

    async def find(self) -> list[ExpiringCredential]:
        """The credentials that end soon, the first to end first; see `ending`."""
        now = self._now()
        is_valid = and_(tokens.c.revoked_at.is_(None), tokens.c.expires_at > now)
        last = (
            select(tokens.c.recipient_id, func.max(tokens.c.expires_at).label("ends"))
            .where(is_valid)
            .group_by(tokens.c.recipient_id)
            .having(func.max(tokens.c.expires_at) <= now + self._within * 1000)
            .subquery()
        )
        is_last = and_(tokens.c.recipient_id == last.c.recipient_id, tokens.c.expires_at == last.c.ends)
        query = (
            select(tokens, recipients.c.name)
            .join(last, is_last)
            .join(recipients, recipients.c.id == tokens.c.recipient_id)
            .where(is_valid, recipients.c.revoked_at.is_(None))
            .order_by(tokens.c.expires_at, recipients.c.key)
        )
        async with self._store.read() as connection:
            return [_ending(row) for row in await connection.execute(query)]

    async def claim(self, found: Sequence[ExpiringCredential]) -> list[ExpiringCredential]:
        """Mark credentials as reported, and return those that no process has marked before.

        Of several processes that claim a credential, one gets it. If that process ends before it has
        reported the credential, the credential is not reported again.
        """
        unreported = [each for each in found if not each.warned]
        claimed: set[str] = set()
        for start in range(0, len(unreported), _BATCH):
            ids = [each.id for each in unreported[start : start + _BATCH]]
            mark = (
                update(tokens)
                .where(tokens.c.id.in_(ids), tokens.c.warned_at.is_(None))
                .values(warned_at=self._now())
                .returning(tokens.c.id)
            )
            # No cached read depends on the column, so the revision does not change.
            async with self._store.append() as connection:
                claimed.update((await connection.execute(mark)).scalars())
        return [each for each in unreported if each.id in claimed]


def _ending(row: Any) -> ExpiringCredential:
    return ExpiringCredential(
        id=row.id,
        kind=row.kind,
        expires_at=row.expires_at,
        recipient_id=row.recipient_id,
        recipient=row.name,
        warned=row.warned_at is not None,
    )


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
