"""Usage that an administrator may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sluicegate._util.clock import epoch_ms
from sluicegate.admin.identity import Admin
from sluicegate.api.errors import InvalidRequest
from sluicegate.config.yaml import nearest
from sluicegate.database import Store
from sluicegate.protocols.common.parameters import integer, text
from sluicegate.vending.usage.models import (
    MAX_ROWS,
    USAGE_BY,
    UsageBy,
    UsageQuery,
    UsageReport,
    day_of,
    parse_day,
)
from sluicegate.vending.usage.report import read_usage

PARAMETERS = ("by", "since", "until", "recipient", "share", "table", "limit")
_DAYS = 30
_ROWS = 1000


class UsageReports:
    """Reads usage.

    Args:
        store: The open database.
        now: Epoch milliseconds.
    """

    def __init__(self, store: Store, *, now: Callable[[], int] = epoch_ms) -> None:
        self._store = store
        self._now = now

    async def read(self, admin: Admin, values: Mapping[str, str]) -> UsageReport:
        """The usage of the shares of an administrator.

        Args:
            admin: The administrator.
            values: Parameters (`PARAMETERS`) as a client sent them. The default are the last 30 days.

        Raises:
            InvalidRequest: A parameter is not valid.
            PermissionDenied: The administrator does not manage the share.
            Unavailable: The database does not respond.
        """
        query = self.query(admin, values)
        async with self._store.read() as connection:
            return await read_usage(connection, query)

    def query(self, admin: Admin, values: Mapping[str, str]) -> UsageQuery:
        """The query of some parameters; see `read`."""
        until = _day("until", values.get("until"), day_of(self._now()))
        since = _day("since", values.get("since"), max(until - _DAYS + 1, 0))
        if since > until:
            raise InvalidRequest("since must not be after until")
        share = text("share", values.get("share"))
        if share is not None:
            admin.check_share(share)
        limit = integer("limit", values.get("limit"), low=1, high=MAX_ROWS)
        return UsageQuery(
            by=_by(values.get("by", "day")),
            since=since,
            until=until,
            recipient=text("recipient", values.get("recipient")),
            share=share,
            table=text("table", values.get("table")),
            shares=admin.shares,
            limit=_ROWS if limit is None else limit,
        )


def _by(value: str) -> UsageBy:
    for by in USAGE_BY:
        if by == value:
            return by
    shown = value[:64]
    raise InvalidRequest(
        f"by must be {', '.join(USAGE_BY[:-1])} or {USAGE_BY[-1]}, not '{shown}'"
        f"{nearest(shown, USAGE_BY)}"
    )


def _day(name: str, value: str | None, default: int) -> int:
    if value is None:
        return default
    try:
        return parse_day(value)
    except ValueError:
        raise InvalidRequest(f"{name} must be a date since 1970 such as 2026-11-21") from None
