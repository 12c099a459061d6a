"""Catalogs, with their schemas and tables, to choose what to share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from sluicegate.access.selection import Selection, select_assets, select_schemas, select_tables
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.browsing import START, CatalogBrowser
from sluicegate.api import ASSET_KINDS, AssetKind, SharedCatalogSource, SharedSchemaSource
from sluicegate.api.errors import InvalidRequest
from sluicegate.config.yaml import nearest
from sluicegate.protocols.common.pagination import page
from sluicegate.signing.opaque_tokens import TokenSigner

_PATH = "/catalogs/{catalog}"


class CatalogsResource:
    """Serves listings of catalogs."""

    def __init__(self, browser: CatalogBrowser, pages: TokenSigner) -> None:
        self._browser = browser
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/catalogs", self._list, "admin", "listCatalogs"),
            AdminRoute("GET", f"{_PATH}/schemas", self._schemas, "admin", "listCatalogSchemas"),
            AdminRoute("GET", f"{_PATH}/tables", self._tables, "admin", "listCatalogTables"),
            AdminRoute("GET", f"{_PATH}/assets", self._assets, "admin", "listCatalogAssets"),
        ]

    async def _list(self, call: AdminCall) -> Response:
        shown = page(self._browser.names(), str, call.page(), self._pages)
        return answered(shown.shown(lambda name: {"name": name, "type": self._browser.type_of(name)}))

    async def _schemas(self, call: AdminCall) -> Response:
        catalog, wanted = call.name("catalog"), call.page()
        found = await self._browser.schemas(catalog)
        source = SharedCatalogSource(catalog)
        unshared = left_out(select_schemas(found.names, source, self._browser.get(catalog)))
        answer = page(found.names, str, wanted, self._pages).shown(
            lambda name: {"name": name, "left_out": unshared.get(name)}
        )
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

    async def _assets(self, call: AdminCall) -> Response:
        catalog = self._browser.get(call.name("catalog"))
        query = call.query("schema", "kind")
        schema, kind = query.get("schema"), query.get("kind", "table")
        if not schema:
            raise InvalidRequest("schema is missing: name one of the schemas of the catalog")
        source = SharedSchemaSource(call.name("catalog"), schema)
        wanted = call.page("schema", "kind")
        bound = replace(wanted, bound_to=f"{wanted.bound_to}\n{schema}\n{kind}")
        if kind == "table":
            tables = await catalog.listed_tables(schema)
            names = sorted(table.name for table in tables)
            unshared = left_out(select_tables(tables, source))
            identifiers = {name: catalog.identifier(schema, name) for name in names}
        else:
            known = asset_kind(kind)
            assets = await catalog.listed_assets(known, schema)
            names = sorted(asset.name for asset in assets)
            unshared = left_out(select_assets(known, assets, source))
            identifiers = {name: catalog.asset_identifier(known, schema, name) for name in names}
        answer = page(names, str, bound, self._pages).shown(
            lambda name: {
                "name": name,
                "identifier": identifiers[name],
                "left_out": unshared.get(name),
            }
        )
        is_empty = not names and kind == "table"
        return answered(answer | {"reason": catalog.reason_for_none} if is_empty else answer)


def asset_kind(value: str) -> AssetKind:
    """The kind of assets with this name."""
    for kind in ASSET_KINDS:
        if kind == value:
            return kind
    raise InvalidRequest(
        f"there is no kind '{value[:64]}'{nearest(value[:64], ('table', *ASSET_KINDS))}"
    )


def left_out(selection: Selection[Any]) -> dict[str, str]:
    """Why names are not shared by `from`, by name."""
    return {each.name: each.reason for each in selection.left_out}
