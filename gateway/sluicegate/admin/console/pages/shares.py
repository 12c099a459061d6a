"""The tree of shares, and the pages of a share and of a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from starlette.responses import Response

from sluicegate.access.recipients.summaries import RecipientSelection, reads_share
from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.conditions import NO_CONDITIONS
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.inspector import Inspector
from sluicegate.admin.console.paging import listing
from sluicegate.admin.console.sections import section
from sluicegate.admin.editing.grants import GrantPart
from sluicegate.admin.services.contents import (
    ContentRow,
    ContentSize,
    GrantedTo,
    SharedContents,
    StoredShare,
)
from sluicegate.api.errors import InvalidRequest
from sluicegate.database.names import name_key
from sluicegate.database.tables import shares
from sluicegate.protocols.explain.models import NamedKind


@dataclass(frozen=True, slots=True)
class Leaf:
    """A table or another asset."""

    kind: NamedKind
    name: str


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """A schema, or a part of it.

    Attributes:
        source: The schema of a catalog that is shared entirely, such as `lake.orders`, or `None`.
    """

    name: str
    source: str | None
    size: int
    leaves: Sequence[Leaf]


@dataclass(frozen=True, slots=True)
class ShareNode:
    """A share, with a part of its content.

    Attributes:
        source: The catalog that is shared entirely, or `None`.
    """

    share: StoredShare
    source: str | None
    granted: GrantedTo
    size: ContentSize
    schemas: Sequence[SchemaNode]
    more: int


async def share_nodes(
    contents: SharedContents, names: Sequence[str], text: str, *, rows: int, recipients: int
) -> list[ShareNode]:
    """Some shares with what matches a text."""
    found = await contents.shares(names)
    sizes = await contents.sizes(found, text)
    granted = await contents.recipients(found, recipients)
    shown = await contents.rows(found, text, first=0, most=rows)
    return [
        ShareNode(
            share,
            source_name(share.source),
            granted[share.id],
            sizes[share.id],
            schema_nodes(shown[share.id]),
            max(0, sizes[share.id].rows - len(shown[share.id])),
        )
        for share in found
    ]


def schema_nodes(rows: Sequence[ContentRow]) -> list[SchemaNode]:
    """Rows by schema."""
    return [
        SchemaNode(
            name,
            source_name(parts[0].source),
            parts[0].size,
            [Leaf(each.kind, each.name) for each in parts if each.kind and each.name],
        )
        for name, group in groupby(rows, key=lambda row: row.schema)
        if (parts := list(group))
    ]


def source_name(source: Mapping[str, Any] | None) -> str | None:
    """What is shared entirely: a catalog, or a schema of a catalog."""
    if source is None:
        return None
    return ".".join(filter(None, (source["catalog"], source.get("schema"))))


_SHARES, _ROWS, _MEMBERS = 25, 200, 200
_RECIPIENTS = 200
_SUGGESTIONS = 1000
# In the tree of all shares, longer lists continue on the page of the share.
_IN_TREE = 30
_SHARE = "/shares/{share}"


class SharePages:
    """Shows shares."""

    def __init__(self, admin: AdminApi, inspector: Inspector) -> None:
        self._admin = admin
        self._contents = admin.contents
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
        wanted = call.query("filter")
        total = await self._contents.count_names(call.admin, wanted)
        page = listing(call, range(total), _SHARES, "shares")
        names: Sequence[str] = ()
        if page.items:
            first = page.items[0]
            names = await self._contents.names(call.admin, wanted, first=first, most=_SHARES)
        nodes = await share_nodes(self._contents, names, wanted, rows=_IN_TREE, recipients=_IN_TREE)
        return call.page("shares.html", listing=page, nodes=nodes, filter=wanted)

    async def _share(self, call: ConsoleCall) -> Response:
        name = call.name("share")
        call.admin.check_share(name)
        share = await self._contents.share(call.admin, name)
        wanted = call.query("filter")
        size = (await self._contents.sizes([share], wanted))[share.id]
        page = listing(call, range(size.rows), _ROWS, "shares", name)
        first = page.items[0] if page.items else 0
        rows = await self._contents.rows([share], wanted, first=first, most=_ROWS)
        granted = await self._contents.recipients([share], _RECIPIENTS)
        live = None
        if share.source is not None:
            live = await section(self._inspector.schemas(name))
        readers = granted[share.id]
        access = self._admin.recipient_access
        managed = await access.managed_among(call.admin, readers.names)
        others = RecipientSelection(~reads_share(shares.c.id == share.id), limit=_SUGGESTIONS)
        return call.page(
            "share.html",
            share=share,
            granted=readers,
            schemas=schema_nodes(rows[share.id]),
            listing=page,
            filter=wanted,
            live=live,
            managed={*managed.values()},
            can_change=call.admin.has_role("admin"),
            suggestions=await access.names(call.admin, others),
        )

    async def _grant(self, call: ConsoleCall) -> Response:
        share, recipient = call.name("share"), call.form.text("recipient")
        if not recipient:
            raise InvalidRequest("recipient is missing: name the recipient to grant the share to")
        place = GrantPart(recipient, share)
        await self._admin.editor.regrant(call.admin, place, NO_CONDITIONS, granted=True)
        return call.redirect("shares", share, message=f"the share was granted to '{recipient}'")

    async def _schema(self, call: ConsoleCall) -> Response:
        share, name = call.name("share"), call.name("schema")
        call.admin.check_share(share)
        await self._contents.share(call.admin, share)
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
