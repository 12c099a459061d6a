"""Catalogs, with their schemas and tables, to choose what to share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from sluicegate.access.selection import Selection, select_assets, select_schemas, select_tables
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.api import (
    ASSET_KINDS,
    AssetKind,
    Catalog,
    SharedCatalogSource,
    SharedSchemaSource,
)
from sluicegate.api.errors import InvalidRequest, NotFound
from sluicegate.config.yaml import nearest
from sluicegate.protocols.common.pagination import page
from sluicegate.signing.opaque_tokens import TokenSigner

_PATH = "/catalogs/{catalog}"


class CatalogsResource:
    """Serves listings of catalogs.

    Args:
        catalogs: The configured catalogs, by name.
        types: Names of their plugins, by the names of the catalogs.
        pages: Signs page tokens.
    """

    def __init__(
        self,
        catalogs: Callable[[], Mapping[str, Catalog]],
        types: Mapping[str, str],
        pages: TokenSigner,
    ) -> None:
        self._catalogs = catalogs
        self._types = types
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
            AdminRoute(
                "GET",
                f"{_PATH}/assets",
                self._assets,
                "admin",
                "listCatalogAssets",
                "List all tables or assets in a schema of a catalog, and which of them can't be shared",
                "CatalogAssets",
                parameters=(
                    ("schema", "Name of the schema in the catalog; required."),
                    ("kind", "`table` (the default), `volume`, `model` or `skill`."),
                ),
                errors=(404,),
                paged=True,
            ),
        ]

    async def _list(self, call: AdminCall) -> Response:
        shown = page(sorted(self._types), str, call.page(), self._pages)
        return answered(shown.shown(lambda name: {"name": name, "type": self._types[name]}))

    async def _schemas(self, call: AdminCall) -> Response:
        catalog = self._catalog(call)
        wanted = call.page()
        names = sorted(await catalog.list_schemas())
        unshared = left_out(select_schemas(names, SharedCatalogSource(call.name("catalog"))))
        answer = page(names, str, wanted, self._pages).shown(
            lambda name: {"name": name, "left_out": unshared.get(name)}
        )
        return answered(answer if names else answer | {"reason": catalog.reason_for_no_schemas})

    async def _tables(self, call: AdminCall) -> Response:
        catalog = self._catalog(call)
        schema = call.query("schema").get("schema")
        if not schema:
            raise InvalidRequest("schema is missing: name one of the schemas of the catalog")
        wanted = call.page("schema")
        bound = f"{wanted.bound_to}\n{schema}"
        state: dict[str, Any] = {"page": None, "start": 0}
        if wanted.token is not None:
            state = self._pages.verify(wanted.token, bound_to=bound, parameter="pageToken")
        # The catalog decides the size of its pages, so a page of it can be several of this listing.
        found = await catalog.table_page(schema, state["page"])
        names = sorted(table.name for table in found.tables)
        end = state["start"] + wanted.max_results
        items = [
            {"name": name, "table": catalog.identifier(schema, name)}
            for name in names[state["start"] : end]
        ]
        following: dict[str, Any] | None = None
        if end < len(names):
            following = {"page": state["page"], "start": end}
        elif found.next_token is not None:
            following = {"page": found.next_token, "start": 0}
        answer: dict[str, object] = {"items": items}
        if following is not None:
            answer["nextPageToken"] = self._pages.sign(following, bound_to=bound)
        elif not names and state["page"] is None:
            answer["reason"] = catalog.reason_for_none
        return answered(answer)

    async def _assets(self, call: AdminCall) -> Response:
        catalog = self._catalog(call)
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

    def _catalog(self, call: AdminCall) -> Catalog:
        name, known = call.name("catalog"), self._catalogs()
        if name not in known:
            raise NotFound(
                f"there is no catalog named '{name}' in the configuration{nearest(name, [*known])}"
            )
        return known[name]


def asset_kind(value: str) -> AssetKind:
    """The kind of assets with this name.

    Raises:
        InvalidRequest: There is none.
    """
    for kind in ASSET_KINDS:
        if kind == value:
            return kind
    raise InvalidRequest(
        f"there is no kind '{value[:64]}'{nearest(value[:64], ('table', *ASSET_KINDS))}"
    )


def left_out(selection: Selection[Any]) -> dict[str, str]:
    """Why names are not shared by `from`, by name."""
    return {each.name: each.reason for each in selection.left_out}
