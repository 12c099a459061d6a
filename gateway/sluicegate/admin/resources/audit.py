"""The audit log: its records, and its heads."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.audit import AUDIT_FILTERS, audit_query
from sluicegate.api.errors import NotFound
from sluicegate.audit.assembly import chain_keys
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

# Blocks that are read for one page: a rare record must not occupy the gateway for long.
_MAX_BLOCKS = 1_000


class AuditResource:
    """Serves `/audit` and `/audit/head`."""

    def __init__(self, settings: Settings, keys: KeyRing, store: Store, pages: TokenSigner) -> None:
        self._settings = settings
        self._keys = keys
        self._store = store
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/audit", self._list, "admin", "listAudit"),
            AdminRoute("GET", "/audit/head", self._head, "admin", "getAuditHead", all_shares=True),
        ]

    async def _list(self, call: AdminCall) -> Response:
        # The reader is needed only here.
        from sluicegate.audit.reading.query import shown
        from sluicegate.audit.reading.search import parse_place, place_text, search_page

        values = call.query(*AUDIT_FILTERS)
        query = audit_query(call.admin, values)
        wanted = call.page(*AUDIT_FILTERS)
        limited = "\n".join(sorted(query.shares)) if query.shares is not None else ""
        bound = "\n".join((wanted.bound_to, limited, *(values.get(name, "") for name in AUDIT_FILTERS)))
        before = None
        if wanted.token is not None:
            state = self._pages.verify(wanted.token, bound_to=bound, parameter="pageToken")
            before = parse_place(state["before"])
        page = await search_page(
            self._store,
            chain_keys(self._settings.audit, self._keys),
            query,
            limit=max(wanted.max_results, 1),
            before=before,
            max_blocks=_MAX_BLOCKS,
        )
        answer: dict[str, Any] = {"items": [shown(each) for each in page.records]}
        if page.before is not None:
            state = {"before": place_text(page.before)}
            answer["nextPageToken"] = self._pages.sign(state, bound_to=bound)
        return answered(answer)

    async def _head(self, call: AdminCall) -> Response:
        from sluicegate.audit.sinks.database.reading import read_heads

        call.query()
        heads = await read_heads(self._store, chain_keys(self._settings.audit, self._keys))
        if heads is None:
            raise NotFound(
                "a head of the audit log is missing, or no configured key has sealed it; to find the "
                "reason, run sluicegate audit verify"
            )
        chains = [
            {"chain": chain, "head": str(head.last), "checkpoint": str(head.checkpoint)}
            for chain, head in heads.items()
        ]
        return answered({"chains": chains})
