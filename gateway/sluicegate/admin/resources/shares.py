"""Shares, their schemas and tables, and their grants."""

from __future__ import annotations

from pydantic import BaseModel
from starlette.responses import Response

from sluicegate.access.shares_file.models import SchemaEntry, ShareEntry, TableEntry
from sluicegate.admin.call import KEEP, AdminCall, answered, kept_content, represented
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.places import SharePlace, with_kept, without_name
from sluicegate.admin.resources.stored import summary
from sluicegate.api.assets.models import ASSET_KINDS
from sluicegate.protocols.common.pagination import page
from sluicegate.signing.opaque_tokens import TokenSigner

_PATHS = {
    "share": "/shares/{share}",
    "schema": "/shares/{share}/schemas/{schema}",
    "table": "/shares/{share}/schemas/{schema}/tables/{table}",
}
_MODELS: dict[str, type[BaseModel]] = {"share": ShareEntry, "schema": SchemaEntry, "table": TableEntry}
_INSIDE = ("schemas", "tables", *(f"{kind}s" for kind in ASSET_KINDS))
_ANSWERS = {"share": "Share", "schema": "Schema", "table": "Table"}


class SharesResource:
    """Serves shares.

    Args:
        editor: Reads and changes them.
        pages: Signs page tokens.
    """

    def __init__(self, editor: Editor, pages: TokenSigner) -> None:
        self._editor = editor
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        found = [
            AdminRoute(
                "GET",
                "/shares",
                self._list,
                "viewer",
                "listShares",
                "List shares",
                "Shares",
                paged=True,
            ),
            AdminRoute(
                "GET",
                "/shares/{share}/grants",
                self._grants,
                "viewer",
                "listGrants",
                "List the recipients that can read a share",
                "Grants",
                errors=(404,),
                paged=True,
            ),
        ]
        for kind, path in _PATHS.items():
            title, answer = kind.title(), _ANSWERS[kind]
            found += [
                AdminRoute(
                    "GET",
                    path,
                    self._get,
                    "viewer",
                    f"get{title}",
                    f"Get a {kind}",
                    answer,
                    errors=(304, 404),
                ),
                AdminRoute(
                    "PUT",
                    path,
                    self._put,
                    "admin",
                    f"put{title}",
                    f"Create or replace a {kind} with its content",
                    answer,
                    (200, 201),
                    body=_MODELS[kind],
                    parameters=KEEP if kind != "table" else (),
                    errors=(404, 412),
                ),
                AdminRoute(
                    "DELETE",
                    path,
                    self._delete,
                    "admin",
                    f"delete{title}",
                    f"Delete a {kind} with its content",
                    status=(204,),
                    errors=(404, 412),
                ),
            ]
        return found

    async def _list(self, call: AdminCall) -> Response:
        stored = await self._editor.stored(call.admin)
        shown = page(stored.shares, lambda share: share.key[1][0], call.page(), self._pages)
        return answered(shown.shown(lambda share: summary(stored, share)))

    async def _grants(self, call: AdminCall) -> Response:
        place = SharePlace((call.name("share"),))
        share = await self._editor.read(call.admin, place)
        stored = await self._editor.stored(call.admin)
        recipients = stored.recipients_of(stored.find(share["name"]))
        shown = page(recipients, str.casefold, call.page(), self._pages)
        return answered(shown.shown(lambda each: {"recipient": each, "share": share["name"]}))

    async def _get(self, call: AdminCall) -> Response:
        place = _place(call)
        return represented(await self._editor.read(call.admin, place), call)

    async def _put(self, call: AdminCall) -> Response:
        place = _place(call)
        model = [*_MODELS.values()][len(place.names) - 1]
        content = without_name(await call.json(model), place.names[-1])
        kept = kept_content(call, _INSIDE) if len(place.names) < len(_PATHS) else ()
        edited = await self._editor.change(
            call.admin, place, call.conditions, lambda before: with_kept(content, before, kept)
        )
        return represented(edited.content, call, 201 if edited.created else 200)

    async def _delete(self, call: AdminCall) -> Response:
        await self._editor.delete(call.admin, _place(call), call.conditions)
        return Response(status_code=204)


def _place(call: AdminCall) -> SharePlace:
    return SharePlace(tuple(call.name(kind) for kind in _PATHS if kind in call.request.path_params))
