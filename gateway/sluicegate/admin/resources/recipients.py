"""Recipients and their grants."""

from __future__ import annotations

from functools import partial

import orjson
from starlette.responses import Response

from sluicegate._util.clock import iso_utc
from sluicegate.access.activation.link import NewLink
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.profile import profile_text
from sluicegate.access.shares_file.models import RecipientEntry
from sluicegate.admin.call import AdminCall, answered, kept_content, represented
from sluicegate.admin.editing.grants import GrantPart
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.recipient_access import NewCredential, NewRecipient, RecipientAccess
from sluicegate.admin.services.listings import EntryListings
from sluicegate.admin.shares_file_parts import Content, RecipientPart, with_kept, without_name
from sluicegate.database.names import name_key
from sluicegate.protocols.common.pagination import read_page
from sluicegate.signing.opaque_tokens import TokenSigner

_PATH = "/recipients/{recipient}"


class CredentialsResource:
    """Serves the credentials of recipients."""

    def __init__(self, access: RecipientAccess, public_url: str) -> None:
        self._access = access
        self._public_url = public_url

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute(
                "POST",
                "/recipients",
                self._create,
                "admin",
                "createRecipient",
                all_shares=True,
                body=NewRecipient,
            ),
            AdminRoute(
                "POST", f"{_PATH}/tokens", self._issue, "admin", "issueCredential", body=NewCredential
            ),
            AdminRoute(
                "DELETE",
                f"{_PATH}/tokens/{{credential}}",
                self._revoke_one,
                "admin",
                "revokeCredential",
            ),
            AdminRoute("POST", f"{_PATH}/revoke", self._revoke, "admin", "revokeRecipient"),
            AdminRoute("POST", f"{_PATH}/restore", self._restore, "admin", "restoreRecipient"),
        ]

    async def _create(self, call: AdminCall) -> Response:
        return self._issued(await self._access.create(await call.parse(NewRecipient)))

    async def _issue(self, call: AdminCall) -> Response:
        wanted = await call.parse(NewCredential)
        return self._issued(await self._access.issue(call.admin, call.name("recipient"), wanted))

    def _issued(self, made: NewLink | IssuedCredential) -> Response:
        common = {"recipient": made.recipient, "expires_at": iso_utc(made.expires_at)}
        if isinstance(made, NewLink):
            return answered({"activation_url": made.url(self._public_url)} | common, 201)
        profile = orjson.loads(profile_text(made, self._public_url))
        return answered({"profile": profile} | common, 201)

    async def _revoke_one(self, call: AdminCall) -> Response:
        recipient, credential = call.name("recipient"), call.name("credential")
        await self._access.revoke_credential(call.admin, recipient, credential)
        return Response(status_code=204)

    async def _revoke(self, call: AdminCall) -> Response:
        return answered({"ended": await self._access.revoke(call.admin, call.name("recipient"))})

    async def _restore(self, call: AdminCall) -> Response:
        await self._access.restore(call.admin, call.name("recipient"))
        return Response(status_code=204)


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
        place = RecipientPart(call.name("recipient"))
        return represented(await self._editor.read(call.admin, place), call)

    async def _put(self, call: AdminCall) -> Response:
        place = RecipientPart(call.name("recipient"))
        content = without_name(await call.json(RecipientEntry), place.recipient)
        kept = kept_content(call, ("shares",))
        edited = await self._editor.change(
            call.admin, place, call.conditions, lambda before: with_kept(content, before, kept)
        )
        return represented(edited.content, call, 201 if edited.created else 200)

    async def _delete(self, call: AdminCall) -> Response:
        place = RecipientPart(call.name("recipient"))
        await self._editor.delete(call.admin, place, call.conditions)
        return Response(status_code=204)

    async def _get_grant(self, call: AdminCall) -> Response:
        place = GrantPart(call.name("recipient"), call.name("share"))
        return represented(await self._editor.read_grant(call.admin, place), call)

    async def _grant(self, call: AdminCall) -> Response:
        return represented(await self._regrant(call, granted=True), call)

    async def _ungrant(self, call: AdminCall) -> Response:
        await self._regrant(call, granted=False)
        return Response(status_code=204)

    async def _regrant(self, call: AdminCall, *, granted: bool) -> Content:
        place = GrantPart(call.name("recipient"), call.name("share"))
        return await self._editor.regrant(call.admin, place, call.conditions, granted=granted)
