"""The ledger: what recipients received."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.usage import PARAMETERS, READS, UsageReports
from sluicegate.api.errors import InvalidRequest
from sluicegate.config.yaml import nearest
from sluicegate.database import Store
from sluicegate.protocols.common.parameters import boolean, text, timestamp
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.vending.entries import KINDS, LedgerEntry
from sluicegate.vending.ledger_search import LedgerQuery, find_entries
from sluicegate.vending.usage.models import report_values
from sluicegate.vending.usage.reads.models import reads_values


class UsageResource:
    """Serves `/usage`."""

    def __init__(self, reports: UsageReports) -> None:
        self._reports = reports

    def routes(self) -> list[AdminRoute]:
        """The route."""
        return [AdminRoute("GET", "/usage", self._show, "viewer", "getUsage")]

    async def _show(self, call: AdminCall) -> Response:
        values = call.query(*PARAMETERS, READS)
        if not boolean(READS, values.get(READS)):
            return answered(report_values(await self._reports.read(call.admin, values)))
        report = await self._reports.reads(call.admin, values)
        return answered(reads_values(report))


_TIMES = ("given_at", "issued_at", "expires_at")
_FILTERS = ("recipient", "share", "table", "kind", "since", "until", "active")


class LedgerResource:
    """Serves `/ledger`."""

    def __init__(self, store: Store, pages: TokenSigner) -> None:
        self._store = store
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The route."""
        return [AdminRoute("GET", "/ledger", self._list, "viewer", "listLedger")]

    async def _list(self, call: AdminCall) -> Response:
        values = call.query(*_FILTERS)
        share = text("share", values.get("share"))
        if share is None:
            call.admin.check_all_shares()
        else:
            call.admin.check_share(share)
        kind = values.get("kind")
        if kind is not None and kind not in KINDS:
            raise InvalidRequest(f"there is no kind '{kind[:64]}'{nearest(kind[:64], KINDS)}")
        wanted = call.page(*_FILTERS)
        bound = "\n".join((wanted.bound_to, *(values.get(name, "") for name in _FILTERS)))
        after = None
        if wanted.token is not None:
            state = self._pages.verify(wanted.token, bound_to=bound, parameter="pageToken")
            after = (state["given_at"], state["id"])
        query = LedgerQuery(
            recipient=text("recipient", values.get("recipient")),
            share=share,
            table=text("table", values.get("table")),
            kind=kind,
            since=timestamp("since", values.get("since")),
            until=timestamp("until", values.get("until")),
            active_at=epoch_ms() if boolean("active", values.get("active")) else None,
            limit=max(wanted.max_results, 1),
            after=after,
        )
        async with self._store.read() as connection:
            entries = await find_entries(connection, query)
        answer: dict[str, Any] = {"items": [_shown(each) for each in entries]}
        if len(entries) == query.limit:
            last = {"given_at": entries[-1].given_at, "id": entries[-1].id}
            answer["nextPageToken"] = self._pages.sign(last, bound_to=bound)
        return answered(answer)


def _shown(entry: LedgerEntry) -> dict[str, Any]:
    times = {name: getattr(entry, name) for name in _TIMES}
    return asdict(entry) | {name: None if at is None else iso_utc(at) for name, at in times.items()}
