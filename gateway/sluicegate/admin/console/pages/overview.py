"""The overview: what is shared, which profiles end soon, and what was refused recently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.responses import Response

from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.pages.audit import AuditPages
from sluicegate.admin.console.pages.recipients import RecipientStates
from sluicegate.admin.console.sections import Section, section
from sluicegate.admin.services.contents import SharedContents

_MOST = 20
_MOST_REFUSALS = 10


class OverviewPage:
    """The start page."""

    def __init__(
        self, contents: SharedContents, recipients: RecipientStates, audit: AuditPages
    ) -> None:
        self._contents = contents
        self._recipients = recipients
        self._audit = audit

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        return [ConsoleRoute("GET", "", self._show)]

    async def _show(self, call: ConsoleCall) -> Response:
        read = partial(self._recipients.read, call.admin, "", most=_MOST)
        total, revoked, ends = await self._recipients.count(
            call.admin, ("", None), ("", "revoked"), ("", "ending")
        )
        return call.page(
            "overview.html",
            counts=await self._contents.count(call.admin),
            recipients=total,
            revoked=revoked,
            without_access=[each for each, _ in await read("no credential")],
            ending=[each for each, _ in await read("ending", by_end=True)],
            more_ending=max(0, ends - _MOST),
            warn_before=self._recipients.warn_before,
            refusals=await self._refusals(call),
        )

    async def _refusals(self, call: ConsoleCall) -> Section[Sequence[Mapping[str, Any]]] | None:
        """The newest refused requests; `None` if the administrator cannot search the audit log."""
        if not self._audit.searchable or not call.admin.has_role("admin"):
            return None
        return await section(self._audit.refused(call.admin, _MOST_REFUSALS))
