"""Shares with their ids and default values, and shares files that declare what is stored."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sluicegate.access.shares_file.entries import Entry
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.editor import Editor
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.api.assets.models import ASSET_KINDS
from sluicegate.protocols.common.parameters import boolean


class StoredResource:
    """Serves `/export`, and the details of shares.

    Args:
        editor: Reads shares.
    """

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute(
                "GET",
                "/shares/{share}/details",
                self._details,
                "viewer",
                "getShareDetails",
                "Get a share with its id and recipients",
                "ShareDetails",
                parameters=(("complete", "Include default values, and the ids of tables and assets."),),
                errors=(404,),
            ),
            AdminRoute(
                "GET",
                "/export",
                self._export,
                "viewer",
                "exportSharesFile",
                "Get shares as a shares file, without credentials",
                "SharesFile",
                parameters=(
                    ("share", "Only this share; can be repeated."),
                    ("recipients", "Include recipients with all of their grants."),
                    ("ids", "Include the ids of tables."),
                ),
                errors=(404,),
            ),
        ]

    async def _details(self, call: AdminCall) -> Response:
        complete = boolean("complete", call.query("complete").get("complete"))
        name = call.name("share")
        call.admin.check_share(name)
        stored = await self._editor.stored(call.admin)
        share = stored.find(name)
        content = {"name": share.names[0], "id": share.id, "recipients": stored.recipients_of(share)}
        return answered(content | stored.content(share, complete=complete))

    async def _export(self, call: AdminCall) -> Response:
        query = call.query("share", "recipients", "ids")
        recipients = boolean("recipients", query.get("recipients"))
        ids = boolean("ids", query.get("ids"))
        names = call.request.query_params.getlist("share")
        for name in names:
            call.admin.check_share(name)
        stored = await self._editor.stored(call.admin)
        if not names and not stored.shares:
            call.admin.check_all_shares()
        return answered(stored.export(names, recipients=recipients, ids=ids))


def summary(stored: StoredShares, share: Entry) -> dict[str, Any]:
    """A share for listings."""
    schemas = stored.within("schema", share.key[1])
    sources = [each.values["source"] for each in (share, *schemas) if each.values["source"]]
    return {
        "name": share.names[0],
        "display_name": share.values["display_name"],
        "comment": share.values["comment"],
        "schemas": [schema.names[-1] for schema in schemas],
        "tables": sum(len(stored.within("table", schema.key[1])) for schema in schemas),
        "assets": sum(
            len(stored.within(kind, schema.key[1])) for schema in schemas for kind in ASSET_KINDS
        ),
        "from": [
            {"catalog": source["catalog"], "schema": source.get("schema"), "kinds": source["kinds"]}
            for source in sources
        ],
        "recipients": stored.recipients_of(share),
    }
