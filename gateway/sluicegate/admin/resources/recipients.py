"""Recipients and their grants."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from sluicegate.access.shares_file.models import RecipientEntry
from sluicegate.admin.call import AdminCall, answered, kept_content, represented
from sluicegate.admin.editing.grants import GrantPlace
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.places import Content, RecipientPlace, with_kept, without_name
from sluicegate.admin.services.listings import EntryListings
from sluicegate.database.names import name_key
from sluicegate.protocols.common.pagination import read_page
from sluicegate.signing.opaque_tokens import TokenSigner

_PATH = "/recipients/{recipient}"
_GRANT = f"{_PATH}/grants/{{share}}"


class RecipientsResource:
    """Serves recipients."""

    def __init__(self, editor: Editor, listings: EntryListings, pages: TokenSigner) -> None:
        self._editor = editor
        self._listings = listings
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/recipients", self._list, "viewer", "listRecipients"),
            AdminRoute("GET", _PATH, self._get, "viewer", "getRecipient"),
            AdminRoute("PUT", _PATH, self._put, "admin", "putRecipient", body=RecipientEntry),
            AdminRoute("DELETE", _PATH, self._delete, "admin", "deleteRecipient"),
            AdminRoute("GET", _GRANT, self._get_grant, "viewer", "getGrant"),
            AdminRoute("PUT", _GRANT, self._grant, "admin", "putGrant"),
            AdminRoute("DELETE", _GRANT, self._ungrant, "admin", "deleteGrant"),
        ]

    async def _list(self, call: AdminCall) -> Response:
        read = partial(self._listings.recipients, call.admin)
        shown = await read_page(read, lambda each: name_key(each["name"]), call.page(), self._pages)
        return answered(shown.shown(lambda each: each))

    async def _get(self, call: AdminCall) -> Response:
        place = RecipientPlace(call.name("recipient"))
        return represented(await self._editor.read(call.admin, place), call)

    async def _put(self, call: AdminCall) -> Response:
        place = RecipientPlace(call.name("recipient"))
        content = without_name(await call.json(RecipientEntry), place.recipient)
        kept = kept_content(call, ("shares",))
        edited = await self._editor.change(
            call.admin, place, call.conditions, lambda before: with_kept(content, before, kept)
        )
        return represented(edited.content, call, 201 if edited.created else 200)

    async def _delete(self, call: AdminCall) -> Response:
        place = RecipientPlace(call.name("recipient"))
        await self._editor.delete(call.admin, place, call.conditions)
        return Response(status_code=204)

    async def _get_grant(self, call: AdminCall) -> Response:
        place = GrantPlace(call.name("recipient"), call.name("share"))
        return represented(await self._editor.read_grant(call.admin, place), call)

    async def _grant(self, call: AdminCall) -> Response:
        return represented(await self._regrant(call, granted=True), call)

    async def _ungrant(self, call: AdminCall) -> Response:
        await self._regrant(call, granted=False)
        return Response(status_code=204)

    async def _regrant(self, call: AdminCall, *, granted: bool) -> Content:
        place = GrantPlace(call.name("recipient"), call.name("share"))
        return await self._editor.regrant(call.admin, place, call.conditions, granted=granted)
