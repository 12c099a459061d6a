"""The tree of shares, and the pages of a share and of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from starlette.responses import Response

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.conditions import Conditions
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.inspector import Inspector
from sluicegate.admin.console.pages.tree import Leaf, SchemaNode, ShareNode, leaf_rows, share_node
from sluicegate.admin.console.paging import listing
from sluicegate.admin.console.sections import section
from sluicegate.admin.places import GrantPlace
from sluicegate.admin.recipient_changes import regrant
from sluicegate.api.errors import InvalidRequest
from sluicegate.database.names import name_key

_SHARES, _ROWS, _MEMBERS = 25, 200, 200
# In the tree of all shares, longer lists continue on the page of the share.
_IN_TREE = 30
_SHARE = "/shares/{share}"


class SharePages:
    """Shows shares.

    Args:
        admin: The services of the Admin API.
        inspector: Reads what catalogs contain now.
    """

    def __init__(self, admin: AdminApi, inspector: Inspector) -> None:
        self._admin = admin
        self._inspector = inspector

    def routes(self) -> list[ConsoleRoute]:
        """The routes."""
        return [
            ConsoleRoute("GET", "/shares", self._tree),
            ConsoleRoute("GET", _SHARE, self._share),
            ConsoleRoute("POST", f"{_SHARE}/grants", self._grant, "admin"),
            ConsoleRoute("GET", f"{_SHARE}/schemas/{{schema}}", self._schema),
        ]

    async def _tree(self, call: ConsoleCall) -> Response:
        stored = await self._admin.editor.stored()
        wanted = call.query("filter")
        nodes = [
            node
            for share in stored.shares
            if call.admin.manages(share.names[0])
            and (node := share_node(stored, share, name_key(wanted))) is not None
        ]
        return call.page(
            "shares.html",
            listing=listing(call, nodes, _SHARES, "shares"),
            filter=wanted,
            most=_IN_TREE,
        )

    async def _share(self, call: ConsoleCall) -> Response:
        name = call.name("share")
        call.admin.check_share(name)
        stored = await self._admin.editor.stored()
        share = stored.find(name)
        wanted = call.query("filter")
        node = share_node(stored, share, name_key(wanted))
        whole = node or ShareNode(share.names[0], share.values["comment"], None, (), ())
        rows = listing(call, list(leaf_rows(whole)), _ROWS, "shares", name)
        live = None
        if share.values["source"] is not None:
            live = await section(self._inspector.schemas(name))
        managed = await self._admin.recipient_access.summaries(call.admin)
        return call.page(
            "share.html",
            share=share,
            node=replace(whole, recipients=stored.recipients_of(share)),
            grouped=_grouped(rows.items),
            listing=rows,
            filter=wanted,
            live=live,
            managed={each.name for each in managed},
            can_change=call.admin.has_role("admin"),
            suggestions=[each.name for each in managed if share.names[0] not in each.shares],
        )

    async def _grant(self, call: ConsoleCall) -> Response:
        share, recipient = call.name("share"), call.form.text("recipient")
        if not recipient:
            raise InvalidRequest("recipient is missing: name the recipient to grant the share to")
        place = GrantPlace(recipient, share)
        await regrant(self._admin.editor, call.admin, place, Conditions(), granted=True)
        return call.redirect("shares", share, message=f"the share was granted to '{recipient}'")

    async def _schema(self, call: ConsoleCall) -> Response:
        share, name = call.name("share"), call.name("schema")
        call.admin.check_share(share)
        schema = await self._inspector.schema(share, name)
        found = await section(self._inspector.members(schema))
        wanted = name_key(call.query("filter"))
        members = [each for each in found.value or () if wanted in name_key(each.name)]
        return call.page(
            "schema.html",
            schema=schema,
            problem=found.problem,
            listing=listing(call, members, _MEMBERS, "shares", share, "schemas", name),
            filter=call.query("filter"),
        )


def _grouped(
    rows: Sequence[tuple[SchemaNode, Leaf | None]],
) -> list[tuple[SchemaNode, list[Leaf]]]:
    """The rows of a page by schema."""
    found = groupby(rows, key=lambda row: row[0])
    return [(schema, [leaf for _, leaf in inner if leaf]) for schema, inner in found]
