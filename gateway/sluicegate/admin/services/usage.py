"""Usage that an administrator may see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from sluicegate._util.clock import epoch_ms
from sluicegate.admin.identity import Admin
from sluicegate.api import ObjectDirectory
from sluicegate.api.errors import InvalidRequest, UnsupportedOperation
from sluicegate.config import Settings
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

if TYPE_CHECKING:
    from sluicegate.vending.usage.reads.daily_table import DailyTable
    from sluicegate.vending.usage.reads.models import ReadsReport

PARAMETERS = ("by", "since", "until", "recipient", "share", "table", "limit")
READS = "reads"
"""The parameter that requests what recipients read, instead of what they were offered."""
_DAYS = 30
_ROWS = 1000


class UsageReports:
    """Reads usage."""

    def __init__(
        self,
        store: Store,
        open_location: Callable[[str], Awaitable[ObjectDirectory]],
        settings: Settings,
        *,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        self._store = store
        self._open_location = open_location
        self._location = settings.usage.location
        self._limits = settings.limits.table.limits
        self._now = now

    async def read(self, admin: Admin, values: Mapping[str, str]) -> UsageReport:
        """The usage of the shares of an administrator."""
        query = self.query(admin, values)
        async with self._store.read() as connection:
            return await read_usage(connection, query)

    async def reads(self, admin: Admin, values: Mapping[str, str]) -> ReadsReport:
        """What recipients read of the shares of an administrator.

        Reads without a known recipient belong to no share.
        """
        query = self.query(admin, values)
        table = self._daily
        from sluicegate.vending.usage.report import read_reads  # loads Arrow

        return await read_reads(table, query)

    @cached_property
    def _daily(self) -> DailyTable:
        if self._location is None:
            raise UnsupportedOperation(
                "reads are not known: set usage.location in the gateway's configuration to the "
                "directory of the tables that COLLECT_USAGE writes"
            )
        from sluicegate.vending.usage.reads.daily_table import DailyTable

        return DailyTable(self._location, self._open_location, self._limits)

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
