"""Catalogs, with their schemas and tables, to choose what to share."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.browsing import START, CatalogBrowser
from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.common.pagination import page
from sluicegate.signing.opaque_tokens import TokenSigner

_PATH = "/catalogs/{catalog}"


class CatalogsResource:
    """Serves listings of catalogs.

    Args:
        browser: Lists them.
        pages: Signs page tokens.
    """

    def __init__(self, browser: CatalogBrowser, pages: TokenSigner) -> None:
        self._browser = browser
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute(
                "GET",
                "/catalogs",
                self._list,
                "admin",
                "listCatalogs",
                "List configured catalogs",
                "Catalogs",
                paged=True,
            ),
            AdminRoute(
                "GET",
                f"{_PATH}/schemas",
                self._schemas,
                "admin",
                "listCatalogSchemas",
                "List the schemas of a catalog that the gateway can read",
                "CatalogSchemas",
                errors=(404,),
                paged=True,
            ),
            AdminRoute(
                "GET",
                f"{_PATH}/tables",
                self._tables,
                "admin",
                "listCatalogTables",
                "List the tables in a schema of a catalog that the gateway can read",
                "CatalogTables",
                parameters=(("schema", "Name of the schema in the catalog; required."),),
                errors=(404,),
                paged=True,
            ),
        ]

    async def _list(self, call: AdminCall) -> Response:
        shown = page(self._browser.names(), str, call.page(), self._pages)
        return answered(shown.shown(lambda name: {"name": name, "type": self._browser.type_of(name)}))

    async def _schemas(self, call: AdminCall) -> Response:
        catalog, wanted = call.name("catalog"), call.page()
        found = await self._browser.schemas(catalog)
        answer = page(found.names, str, wanted, self._pages).shown(lambda name: {"name": name})
        return answered(answer if found.names else answer | {"reason": found.reason})

    async def _tables(self, call: AdminCall) -> Response:
        catalog = call.name("catalog")
        self._browser.get(catalog)
        schema = call.query("schema").get("schema")
        if not schema:
            raise InvalidRequest("schema is missing: name one of the schemas of the catalog")
        wanted = call.page("schema")
        bound = f"{wanted.bound_to}\n{schema}"
        position = START
        if wanted.token is not None:
            position = self._pages.verify(wanted.token, bound_to=bound, parameter="pageToken")
        found = await self._browser.tables(catalog, schema, position, wanted.max_results)
        answer: dict[str, object] = {
            "items": [{"name": name, "table": table} for name, table in found.items]
        }
        if found.following is not None:
            answer["nextPageToken"] = self._pages.sign(dict(found.following), bound_to=bound)
        elif found.reason is not None:
            answer["reason"] = found.reason
        return answered(answer)
