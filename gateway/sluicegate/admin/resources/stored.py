"""Shares with their ids and default values, and shares files that declare what is stored."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.access.shares_file.stored import (
    ALL,
    grants_of_share,
    joined,
    readers_part,
    share_part,
)
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.editing.changes import in_thread
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.listings import EntryListings
from sluicegate.protocols.common.parameters import boolean


class StoredResource:
    """Serves `/export`, and the details of shares."""

    def __init__(self, editor: Editor, listings: EntryListings) -> None:
        self._editor = editor
        self._listings = listings

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/shares/{share}/details", self._details, "viewer", "getShareDetails"),
            AdminRoute("GET", "/export", self._export, "viewer", "exportSharesFile"),
        ]

    async def _details(self, call: AdminCall) -> Response:
        complete = boolean("complete", call.query("complete").get("complete"))
        name = call.name("share")
        parts = share_part(name), grants_of_share(name)
        stored, share = await self._listings.share(call.admin, name, *parts)
        content = {"name": share.names[0], "id": share.id, "recipients": stored.recipients_of(share)}
        return await in_thread(lambda: answered(content | stored.content(share, complete=complete)))

    async def _export(self, call: AdminCall) -> Response:
        query = call.query("share", "recipients", "ids")
        recipients = boolean("recipients", query.get("recipients"))
        ids = boolean("ids", query.get("ids"))
        names = call.request.query_params.getlist("share")
        for name in names:
            call.admin.check_share(name)
        for name in names:
            await self._listings.share(call.admin, name)
        part = joined(*map(share_part, names), readers_part(names)) if names else ALL
        stored = await self._editor.stored(call.admin, part)
        if not names and not stored.shares:
            call.admin.check_all_shares()
        return await in_thread(lambda: answered(stored.export(names, recipients=recipients, ids=ids)))
