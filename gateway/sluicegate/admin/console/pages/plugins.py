"""The pages that plugins add to the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from starlette.responses import Response

from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.responses import MenuEntry
from sluicegate.admin.console.sections import section
from sluicegate.api import (
    ConsoleBlock,
    ConsoleFacts,
    ConsolePage,
    ConsoleRequest,
    ConsoleTable,
    ConsoleText,
)

_KINDS = {ConsoleText: "text", ConsoleFacts: "facts", ConsoleTable: "table"}


class PluginPages:
    """Shows what plugins return as the other pages show it, with all texts escaped."""

    def __init__(self, pages: Mapping[str, Sequence[ConsolePage]]) -> None:
        self._pages = pages

    def routes(self) -> Iterator[ConsoleRoute]:
        """The routes. A limited administrator can open none: plugins know nothing of limits."""
        for path, page in self._located():
            yield ConsoleRoute("GET", f"/{path}", partial(self._show, page), page.role, all_shares=True)

    def entries(self) -> Iterator[MenuEntry]:
        """The entries of the navigation."""
        for path, page in self._located():
            if page.in_navigation:
                yield MenuEntry(path, page.title, page.role, all_shares=True)

    def _located(self) -> Iterator[tuple[str, ConsolePage]]:
        for plugin, pages in self._pages.items():
            for page in pages:
                yield "/".join(("plugins", plugin, *([page.path] if page.path else []))), page

    async def _show(self, page: ConsolePage, call: ConsoleCall) -> Response:
        request = ConsoleRequest(call.admin.name, call.admin.role, call.parameters)
        found = await section(self._blocks(page, request))
        return call.page(
            "plugin.html", heading=page.title, problem=found.problem, blocks=found.value or ()
        )

    async def _blocks(
        self, page: ConsolePage, request: ConsoleRequest
    ) -> Sequence[tuple[str, ConsoleBlock]]:
        return [(_kind(block), block) for block in await page.show(request)]


def _kind(block: ConsoleBlock) -> str:
    kind = _KINDS.get(type(block))
    if kind is None:
        raise TypeError(f"a page consists of texts, facts and tables, not {type(block).__name__}")
    if isinstance(block, ConsoleTable):
        _check_rows(block)
    return kind


def _check_rows(table: ConsoleTable) -> None:
    for row in table.rows:
        if len(row) != len(table.columns):
            sizes = f"{len(table.columns)} columns, and a row with {len(row)} cells"
            raise ValueError(f"the table '{table.caption}' has {sizes}")
