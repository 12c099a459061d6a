"""Searches the audit log, shows its records, and downloads them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import orjson
from starlette.responses import Response, StreamingResponse

from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.responses import HEADERS
from sluicegate.admin.identity import Admin
from sluicegate.admin.services.audit import AUDIT_FILTERS, audit_query
from sluicegate.api.errors import NotFound
from sluicegate.audit.assembly import chain_keys
from sluicegate.audit.records import Outcome
from sluicegate.config import Settings
from sluicegate.config.sections.audit import DatabaseSinkSettings
from sluicegate.database import Store
from sluicegate.signing.keyring import KeyRing

if TYPE_CHECKING:
    from sluicegate.audit.chain import ChainKeys
    from sluicegate.audit.reading.query import AuditQuery, StoredRecord

_PAGE = 50
_MOST_DOWNLOADED = 100_000
# Blocks that are read for one page: a rare record must not occupy the gateway for long.
_MAX_BLOCKS = 1_000
# Of a page that shows the newest records only.
_MAX_NEWEST_BLOCKS = 100
_LARGEST = {"chain": 2**31 - 1, "seq": 2**62}
_LINES = "application/x-ndjson"
# What browsers send for a field of the type `datetime-local`.
_LOCAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?")


class AuditPages:
    """Shows the audit log in the database."""

    def __init__(self, store: Store, settings: Settings, keys: KeyRing) -> None:
        self._store = store
        self._keys = keys
        self._section = section = settings.audit
        self._mode = section.mode
        self.searchable = section.mode != "off" and any(
            isinstance(sink, DatabaseSinkSettings) for sink in section.sinks
        )

    @cached_property
    def _chain_keys(self) -> ChainKeys:
        return chain_keys(self._section, self._keys)

    def routes(self) -> list[ConsoleRoute]:
        """The routes."""
        return [
            ConsoleRoute("GET", "/audit", self._list, "admin"),
            ConsoleRoute("GET", "/audit/records.ndjson", self._download, "admin"),
            ConsoleRoute("GET", "/audit/{chain:int}/{seq:int}", self._show, "admin"),
        ]

    async def refused(self, admin: Admin, most: int) -> list[Mapping[str, Any]]:
        """The newest refused requests about the shares of an administrator, the newest first."""
        from sluicegate.audit.reading.search import search_page

        query = audit_query(admin, {"outcome": "refused"})
        page = await search_page(
            self._store,
            self._chain_keys,
            query,
            limit=most,
            before=None,
            max_blocks=_MAX_NEWEST_BLOCKS,
        )
        return [_shown(each) for each in page.records]

    async def _list(self, call: ConsoleCall) -> Response:
        if not self.searchable:
            return call.page("audit-off.html", off=self._mode == "off")
        from sluicegate.audit.reading.search import parse_place, place_text, search_page

        given, query = _wanted(call)
        before = parse_place(call.query("before"))
        page = await search_page(
            self._store,
            self._chain_keys,
            query,
            limit=_PAGE,
            before=before,
            max_blocks=_MAX_BLOCKS,
        )
        wanted = {name: value for name, value in given.items() if value}
        following = None
        if page.before is not None:
            following = call.url("audit", **wanted, before=place_text(page.before))
        return call.page(
            "audit.html",
            records=[_shown(each) for each in page.records],
            given=given,
            outcomes=get_args(Outcome),
            following=following,
            first=call.url("audit", **wanted) if call.query("before") else None,
            download=call.url("audit", "records.ndjson", **wanted),
            most=_MOST_DOWNLOADED,
        )

    async def _show(self, call: ConsoleCall) -> Response:
        from sluicegate.audit.reading.search import find_record

        # Larger numbers than those of the database find nothing.
        chain, seq = (min(int(call.request.path_params[name]), most) for name, most in _LARGEST.items())
        found = await find_record(self._store, audit_query(call.admin, {}), chain, seq)
        if found is None:
            raise NotFound("there is no such record, or it is not about one of your shares")
        return call.page("audit-record.html", record=_shown(found), mac=found.mac)

    async def _download(self, call: ConsoleCall) -> Response:
        _, query = _wanted(call)
        attachment = {"Content-Disposition": 'attachment; filename="audit.ndjson"'}
        return StreamingResponse(self._lines(query), 200, {**HEADERS, **attachment}, _LINES)

    async def _lines(self, query: AuditQuery) -> AsyncIterator[bytes]:
        from sluicegate.audit.reading.query import shown
        from sluicegate.audit.reading.search import search

        number = 0
        async for each in search(self._store, self._chain_keys, query):
            yield orjson.dumps(shown(each)) + b"\n"
            number += 1
            if number == _MOST_DOWNLOADED:
                return


def _wanted(call: ConsoleCall) -> tuple[Mapping[str, str], AuditQuery]:
    """The filters as they were entered, and their query. Times without an offset are in UTC."""
    given = {name: call.query(name) for name in AUDIT_FILTERS}
    wanted = {
        name: f"{value}Z" if name in ("since", "until") and _LOCAL.fullmatch(value) else value
        for name, value in given.items()
        if value
    }
    return given, audit_query(call.admin, wanted)


def _shown(stored: StoredRecord) -> Mapping[str, Any]:
    from sluicegate.audit.encoding import values_of

    values = values_of(stored.record)
    issued = [(str(name), str(value)) for name, value in stored.record.issued.items()]
    return {**values, "chain": stored.chain, "seq": stored.seq, "issued": issued}
