"""The page of a table or another asset: its content, how it can be read, and who can read it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.responses import Response

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.inspector import KINDS, Inspector
from sluicegate.admin.console.sections import Section, section
from sluicegate.api.errors import NotFound
from sluicegate.api.models import SharedTable
from sluicegate.database import Store
from sluicegate.database.names import name_key
from sluicegate.protocols.explain.models import AssetPath, Explanation, NamedKind, Readers
from sluicegate.telemetry.redaction import redact
from sluicegate.vending.entries import LedgerEntry
from sluicegate.vending.ledger_search import LedgerQuery, find_entries

if TYPE_CHECKING:
    from sluicegate.admin.console.table_facts import TableFacts
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan
    from sluicegate.tables.snapshot import Snapshot

_READS = 10
_MOST_READERS = 100
# Recipients that can be selected.
_MOST_GRANTED = 1000


@dataclass(frozen=True, slots=True)
class FileTotals:
    """Data files, and their bytes."""

    files: int
    bytes: int


class SharedTablePage:
    """Shows a table or another asset."""

    def __init__(
        self,
        admin: AdminApi,
        store: Store,
        inspector: Inspector,
        explainer: Explainer,
        who_can: WhoCan,
    ) -> None:
        self._admin = admin
        self._store = store
        self._inspector = inspector
        self._explainer = explainer
        self._who_can = who_can

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        path = "/shares/{share}/schemas/{schema}/{kind}/{name}"
        return [ConsoleRoute("GET", path, self._show)]

    async def _show(self, call: ConsoleCall) -> Response:
        path = AssetPath(call.name("share"), call.name("schema"), call.name("name"))
        call.admin.check_share(path.share)
        kind = _kind(call.name("kind"))
        share = await self._admin.contents.share(call.admin, path.share)
        granted = (await self._admin.contents.recipients([share], _MOST_GRANTED))[share.id]
        chosen = call.query("recipient")
        managed = await self._admin.recipient_access.managed_among(call.admin, [*granted.names, chosen])
        choices = [name for name in granted.names if name_key(name) in managed]
        wanted = chosen or next(iter(choices), "")
        recipient = managed.get(name_key(wanted))
        found, explanation, readers, reads = await asyncio.gather(
            section(self._inspector.find(path, kind)),
            section(self._explanation(path, kind, recipient)),
            section(self._who_can.readers(path, kind=kind)),
            section(self._reads(path)),
        )
        # Catalogs that vend credentials do so for recipients only.
        reader = next(iter(filter(None, (recipient, *granted.names))), None)
        snapshot = await section(self._snapshot(call, kind, found.value, reader))
        facts, files = await self._content(snapshot, found.value, recipient)
        return call.page(
            "table.html",
            path=path,
            kind=kind,
            found=found,
            facts=facts,
            files=files,
            explanation=explanation,
            readers=_shown_to(readers, managed.keys()),
            more_readers=max(0, granted.total - _MOST_READERS),
            reads=reads,
            choices=choices,
            recipient=recipient or "",
        )

    async def _snapshot(
        self, call: ConsoleCall, kind: NamedKind, table: SharedTable | None, reader: str | None
    ) -> Snapshot | None:
        """The newest snapshot of a table; `None` of other assets, and of what was not found."""
        if kind != "table" or table is None:
            return None
        if reader is None:
            return await self._inspector.snapshot(call.admin.principal, table)
        return await self._inspector.snapshot(await self._inspector.principal(reader), table)

    async def _content(
        self, read: Section[Snapshot | None], table: SharedTable | None, recipient: str | None
    ) -> tuple[Section[TableFacts], Section[FileTotals]]:
        """The content of a table, and the part of it that a recipient sees."""
        snapshot = read.value
        if snapshot is None or table is None:
            return Section(problem=read.problem), Section()
        files: Section[FileTotals] = Section()
        if recipient is not None:
            files = await section(self._files(recipient, table, snapshot))
        return await section(_facts(snapshot)), files

    async def _files(self, recipient: str, table: SharedTable, snapshot: Snapshot) -> FileTotals:
        files = await self._inspector.files_for(recipient, table, snapshot)
        return FileTotals(len(files), files.size)

    async def _explanation(
        self, path: AssetPath, kind: NamedKind, recipient: str | None
    ) -> Explanation | None:
        """The access of a recipient, without what reasons of catalogs and stores might reveal."""
        if recipient is None:
            return None
        found = await self._explainer.explain(recipient, path, kind=kind)
        steps = tuple(replace(each, reason=redact(each.reason)) for each in found.steps)
        ways = tuple(replace(each, reason=redact(each.reason)) for each in found.ways)
        return replace(found, steps=steps, ways=ways)

    async def _reads(self, path: AssetPath) -> list[LedgerEntry]:
        async with self._store.read() as connection:
            query = LedgerQuery(share=path.share, table=str(path), limit=_READS)
            return await find_entries(connection, query)


async def _facts(snapshot: Snapshot) -> TableFacts:
    from sluicegate.admin.console.table_facts import table_facts  # imports Arrow

    return await anyio.to_thread.run_sync(table_facts, snapshot)


def _shown_to(readers: Section[Readers], managed: Collection[str]) -> Section[Readers]:
    """The first readers. Administrators see reasons and credentials only of their own recipients."""
    if readers.value is None:
        return readers
    shown = (
        replace(each, reason=redact(each.reason))
        if name_key(each.recipient) in managed
        else replace(each, allowed=None, ways=(), reason="", credentials="")
        for each in readers.value.readers[:_MOST_READERS]
    )
    return Section(replace(readers.value, readers=tuple(shown)))


def _kind(text: str) -> NamedKind:
    for kind in KINDS:
        if text == kind:
            return kind
    raise NotFound(f"there is no kind '{text[:64]}' of shared data")
