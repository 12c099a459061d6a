"""Shares, their schemas and tables, and their grants."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from sluicegate.access.shares_file.models import SchemaEntry, ShareEntry, TableEntry
from sluicegate.admin.call import AdminCall, answered, kept_content, represented
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.listings import EntryListings, ShareSummary
from sluicegate.admin.shares_file_parts import SharePart, with_kept, without_name
from sluicegate.api.assets.models import ASSET_KINDS
from sluicegate.database.names import name_key
from sluicegate.protocols.common.pagination import read_page
from sluicegate.signing.opaque_tokens import TokenSigner

_PATHS = {
    "share": "/shares/{share}",
    "schema": "/shares/{share}/schemas/{schema}",
    "table": "/shares/{share}/schemas/{schema}/tables/{table}",
}
_MODELS: dict[str, type[BaseModel]] = {"share": ShareEntry, "schema": SchemaEntry, "table": TableEntry}
_INSIDE = ("schemas", "tables", *(f"{kind}s" for kind in ASSET_KINDS))


class SharesResource:
    """Serves shares."""

    def __init__(self, editor: Editor, listings: EntryListings, pages: TokenSigner) -> None:
        self._editor = editor
        self._listings = listings
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        found = [
            AdminRoute("GET", "/shares", self._list, "viewer", "listShares"),
            AdminRoute("GET", "/shares/{share}/grants", self._grants, "viewer", "listGrants"),
        ]
        for kind, path in _PATHS.items():
            title = kind.title()
            found += [
                AdminRoute("GET", path, self._get, "viewer", f"get{title}"),
                AdminRoute("PUT", path, self._put, "admin", f"put{title}", body=_MODELS[kind]),
                AdminRoute("DELETE", path, self._delete, "admin", f"delete{title}"),
            ]
        return found

    async def _list(self, call: AdminCall) -> Response:
        read = partial(self._listings.shares, call.admin)
        shown = await read_page(read, lambda each: each.share.key[1][0], call.page(), self._pages)
        return answered(shown.shown(_summary))

    async def _grants(self, call: AdminCall) -> Response:
        _, share = await self._listings.share(call.admin, call.name("share"))
        read = partial(self._listings.readers, share)
        shown = await read_page(read, name_key, call.page(), self._pages)
        return answered(shown.shown(lambda each: {"recipient": each, "share": share.names[0]}))

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


def _place(call: AdminCall) -> SharePart:
    return SharePart(tuple(call.name(kind) for kind in _PATHS if kind in call.request.path_params))


def _summary(found: ShareSummary) -> dict[str, Any]:
    share, sources = found.share, [each.values["source"] for each in (found.share, *found.schemas)]
    return {
        "name": share.names[0],
        "display_name": share.values["display_name"],
        "comment": share.values["comment"],
        "schemas": [schema.names[-1] for schema in found.schemas],
        "tables": found.tables,
        "assets": found.assets,
        "from": [
            {"catalog": source["catalog"], "schema": source.get("schema"), "kinds": source["kinds"]}
            for source in filter(None, sources)
        ],
        "recipients": found.recipients,
    }
