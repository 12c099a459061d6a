"""The first steps: the catalog, the schema and the table. Their addresses can be bookmarked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.paging import listing
from sluicegate.admin.services.browsing import START, Position, TableNames
from sluicegate.api.errors import InvalidRequest, SluicegateError
from sluicegate.database.names import aliased, name_key

PATH = "share-table"
_PAGE = 100
# What an alias contains instead of characters that no name can contain.
_REPLACEMENT = "_"


@dataclass(frozen=True, slots=True)
class TableChoice:
    """A table to choose."""

    name: str
    address: str


class ChoosingPages:
    """Browses the catalogs."""

    def __init__(self, admin: AdminApi) -> None:
        self._admin = admin

    def routes(self) -> list[ConsoleRoute]:
        """The routes."""
        return [ConsoleRoute("GET", f"/{PATH}", self._choose, "admin")]

    async def _choose(self, call: ConsoleCall) -> Response:
        catalog, schema = call.query("catalog"), call.query("schema")
        if not catalog:
            names = self._admin.browser.names()
            catalogs = [(name, self._admin.browser.type_of(name)) for name in names]
            return call.page("wizard-catalog.html", catalogs=catalogs)
        self._admin.browser.get(catalog)
        wanted = call.query("filter")
        try:
            if schema:
                return await self._tables(call, catalog, schema, wanted)
            return await self._schemas(call, catalog, wanted)
        except InvalidRequest:
            raise
        except SluicegateError as error:
            # The page still offers to enter the name of a table.
            return self._page(call, catalog, schema, wanted, failure=error.message)

    async def _schemas(self, call: ConsoleCall, catalog: str, wanted: str) -> Response:
        found = await self._admin.browser.schemas(catalog)
        names = [name for name in found.names if name_key(wanted) in name_key(name)]
        shown = listing(call, names, _PAGE, PATH)
        return self._page(call, catalog, "", wanted, schemas=shown, reason=found.reason)

    async def _tables(self, call: ConsoleCall, catalog: str, schema: str, wanted: str) -> Response:
        bound = f"{call.admin.principal.id}\n{PATH}\n{catalog}\n{schema}\n{wanted}"
        token, position = call.request.query_params.get("after"), START
        if token:
            position = self._admin.pages.verify(token, bound_to=bound, parameter="after")
        found = await self._admin.browser.search(catalog, schema, wanted, position, _PAGE)
        return self._page(
            call,
            catalog,
            schema,
            wanted,
            tables=[_choice(call, catalog, name, table) for name, table in found.items],
            following=self._following(call, found, bound),
            first=None if position is START else self._here(call, catalog, schema, wanted),
            reason=found.reason,
        )

    def _following(self, call: ConsoleCall, found: TableNames, bound: str) -> str | None:
        if found.following is None:
            return None
        position: Position = found.following
        signed = self._admin.pages.sign(dict(position), bound_to=bound)
        return call.url(PATH, **{**call.parameters, "after": signed})

    def _here(self, call: ConsoleCall, catalog: str, schema: str, wanted: str) -> str:
        return call.url(PATH, catalog=catalog, schema=schema, filter=wanted)

    def _page(
        self, call: ConsoleCall, catalog: str, schema: str, wanted: str, **values: Any
    ) -> Response:
        nothing = dict.fromkeys(("schemas", "tables", "following", "first", "reason", "failure"))
        return call.page(
            "wizard-source.html",
            catalog=catalog,
            schema=schema,
            filter=wanted,
            **{**nothing, **values},
        )


def _choice(call: ConsoleCall, catalog: str, name: str, table: str) -> TableChoice:
    alias = aliased("table", name, _REPLACEMENT)
    return TableChoice(name, call.url(PATH, "options", catalog=catalog, table=table, name=alias))
