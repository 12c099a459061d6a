"""The contents and responses of the fake Unity Catalog."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sluicegate_testing.servers.unity_catalog._unity_assets import UnityAssets, asset_reply
from sluicegate_testing.servers.unity_catalog._unity_delta import delta_table, preview_commits
from sluicegate_testing.servers.unity_catalog._unity_http import UnityReply, UnityRequest
from sluicegate_testing.servers.unity_catalog._unity_identity import UnityIdentities

_API = "/api/2.1/unity-catalog"
_EXCHANGE = "/api/1.0/unity-control/auth/tokens"
_DELTA = "/delta/v1/catalogs/"
_PREVIEW = "/delta/preview/commits"
_CREDENTIALS = "/temporary-table-credentials"
_LISTINGS = ("/catalogs", "/schemas", "/tables", "/volumes", "/models")
_OF_SCHEMA = ("/tables", "/volumes", "/models")
_KEYS = {"/models": "registered_models"}
_MOST = 100
NOTHING = {
    "aws_temp_credentials": None,
    "azure_user_delegation_sas": None,
    "gcp_oauth_token": None,
    "expiration_time": None,
}


@dataclass
class UnityState(UnityIdentities):
    """A catalog's contents.

    Attributes:
        version: The version whose responses are returned: 0.6 has the Delta API, 0.4 only its preview.
        schemas: `catalog.schema`, in addition to those of tables.
        tables: Tables by full name, as `table_info` creates them.
        assets: Volumes and registered models.
        forbidden: Full names of catalogs, schemas and tables on which the gateway has no grants.
        commits: Commits of catalog-managed tables by full name: those that are not backfilled, and the
            newest one.
        uniform: Locations of Iceberg metadata, by full name.
        credentials: Responses of `temporary-table-credentials`, and of those for volumes and versions,
            by id. By default, the response is empty for `file:`, and for other storage an error because
            its bucket is not configured.
        delta_api_only: `server.managed-table.use-delta-api-only`.
        page_seconds: Time for each page of a listing, to simulate slow authorization.
    """

    version: Literal["0.4", "0.6"] = "0.6"
    schemas: list[str] = field(default_factory=list)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    assets: UnityAssets = field(default_factory=UnityAssets)
    forbidden: set[str] = field(default_factory=set)
    commits: dict[str, tuple[list[dict[str, Any]], int]] = field(default_factory=dict)
    uniform: dict[str, str] = field(default_factory=dict)
    credentials: dict[str, dict[str, Any]] = field(default_factory=dict)
    delta_api_only: bool = False
    page_seconds: float = 0.0

    def add(self, *infos: dict[str, Any]) -> None:
        """Register tables."""
        for info in infos:
            name = f"{info['catalog_name']}.{info['schema_name']}.{info['name']}"
            self.tables[name] = info

    def answer(self, request: UnityRequest) -> UnityReply:
        """Return the response to a request."""
        if request.path == _EXCHANGE:
            return self.exchange(request)
        if (refusal := self.refusal(request.token)) is not None:
            return refusal
        if not request.path.startswith(f"{_API}/"):
            return self._no_route(404)
        path = request.path.removeprefix(_API)
        if request.method == "POST" and path == _CREDENTIALS:
            return self._credentials(request.json)
        if path in _LISTINGS and request.method == "GET":
            return self._listing(path, request.query)
        if path.startswith("/tables/") and request.method == "GET":
            return self._table(path.removeprefix("/tables/"))
        if (reply := asset_reply(self, path, request)) is not None:
            return reply
        if path.startswith(_DELTA) and self.version == "0.6":
            return delta_table(self, path.removeprefix(_DELTA), request.query)
        if path == _PREVIEW and request.method == "GET":
            return preview_commits(self, request)
        return self._no_route(405 if path in _LISTINGS else 404)

    def refusal_of(self, name: str) -> UnityReply | None:
        """Return why a table is not visible; `None` if it is."""
        parts = name.split(".")
        if len(parts) != 3:
            return UnityReply.refusing("INVALID_ARGUMENT", f"Invalid table name: {name}")
        if (refusal := self.no_schema(parts[0], parts[1])) is not None:
            return refusal
        if name not in self.tables:
            return UnityReply.refusing("TABLE_NOT_FOUND", f"Table not found: {name}")
        if self.hides(name):
            return UnityReply.refusing("PERMISSION_DENIED", "Access denied.")
        return None

    def no_schema(self, catalog: str, schema: str) -> UnityReply | None:
        """Return the error of a schema that does not exist; `None` if it exists."""
        if catalog not in self._catalogs():
            return UnityReply.refusing("CATALOG_NOT_FOUND", f"Catalog not found: {catalog}")
        if f"{catalog}.{schema}" not in self._schemas():
            return UnityReply.refusing("SCHEMA_NOT_FOUND", f"Schema not found: {catalog}.{schema}")
        return None

    def hides(self, name: str) -> bool:
        """Return whether the gateway has no grants on a name."""
        parts = name.split(".")
        return any(".".join(parts[:count]) in self.forbidden for count in (1, 2, 3))

    def granted(self, info: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the credentials for a table; `None` if its bucket is not configured."""
        given = self.credentials.get(info["table_id"])
        if given is None and not info["storage_location"].startswith("file:"):
            return None
        return {**NOTHING, "url": info["storage_location"], **(given or {})}

    def _no_route(self, status: int) -> UnityReply:
        # With authorization, a decorator first looks for the service of the route, which does not
        # exist.
        if self.tokens is not None:
            return UnityReply.refusing("INTERNAL", "Couldn't unwrap service.")
        return UnityReply.no_route(status)

    def _catalogs(self) -> set[str]:
        return {name.partition(".")[0] for name in self._schemas()}

    def _schemas(self) -> set[str]:
        named = (*self.tables, *self.assets.volumes, *self.assets.models)
        return {*self.schemas, *(name.rpartition(".")[0] for name in named)}

    def _listing(self, path: str, query: Mapping[str, str]) -> UnityReply:
        if (refusal := self._malformed(path, query)) is not None:
            return refusal
        time.sleep(self.page_seconds)
        catalog = query.get("catalog_name", "")
        entries: dict[str, dict[str, Any]]
        if path == "/catalogs":
            entries = {name: {"name": name} for name in self._catalogs()}
        elif path == "/schemas":
            entries = {
                name: {"name": name.partition(".")[2], "catalog_name": catalog, "full_name": name}
                for name in self._schemas()
                if name.startswith(f"{catalog}.")
            }
        else:
            entries = self._of_schema(path, query)
        return self._page(_KEYS.get(path, path[1:]), sorted(entries.items()), query)

    def _of_schema(self, path: str, query: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        known = {"/volumes": self.assets.volumes, "/models": self.assets.models}.get(path)
        # Without the names of catalog and schema, real servers list all models.
        named = [query[name] for name in ("catalog_name", "schema_name") if query.get(name)]
        around = "".join(f"{name}." for name in named)
        if known is not None:
            return {name: info for name, info in known.items() if name.startswith(around)}
        found = {name: info for name, info in self.tables.items() if name.startswith(around)}
        return {name: _without(info, query) for name, info in found.items()}

    def _malformed(self, path: str, query: Mapping[str, str]) -> UnityReply | None:
        refusal = self._unknown_place(path, query)
        if refusal is not None:
            return refusal
        size = query.get("max_results", "0")
        if not size.lstrip("-").isdecimal():
            return UnityReply.refusing("INVALID_ARGUMENT", f'For input string: "{size}"')
        if int(size) < 0:
            return UnityReply.refusing(
                "INVALID_ARGUMENT", "maxResults must be greater than or equal to 0"
            )
        return None

    def _unknown_place(self, path: str, query: Mapping[str, str]) -> UnityReply | None:
        needed = {"/catalogs": (), "/schemas": ("catalog_name",)}.get(
            path, ("catalog_name", "schema_name")
        )
        missing = [name for name in needed if not query.get(name)]
        if path == "/models" and missing:
            if len(missing) == 2:
                return None
            given, absent = ("schema", "catalog") if query.get("schema_name") else ("catalog", "schema")
            message = f"Cannot specify {given} w/o {absent} for list registered models."
            return UnityReply.refusing("INVALID_ARGUMENT", message)
        if missing and self.tokens is None:
            return UnityReply.refusing(
                "INVALID_ARGUMENT", f"Mandatory parameter/header is missing: {missing[0]}"
            )
        catalog, schema = query.get("catalog_name", "null"), query.get("schema_name", "null")
        if path in _OF_SCHEMA:
            return self.no_schema(catalog, schema)
        if needed and catalog not in self._catalogs():
            return UnityReply.refusing("CATALOG_NOT_FOUND", f"Catalog not found: {catalog}")
        return None

    def _page(
        self, key: str, entries: list[tuple[str, dict[str, Any]]], query: Mapping[str, str]
    ) -> UnityReply:
        size = min(int(query.get("max_results") or _MOST) or _MOST, _MOST)
        after = base64.b64decode(query.get("page_token", "")).decode()
        page = [entry for entry in entries if entry[0] > after][:size]
        # A full page has a next page. Tables that must not be visible are removed afterwards.
        token = base64.b64encode(page[-1][0].encode()).decode() if len(page) == size else None
        shown = [document for name, document in page if not self.hides(name)]
        return UnityReply.of({key: shown, "next_page_token": token})

    def _table(self, name: str) -> UnityReply:
        return self.refusal_of(name) or UnityReply.of(self.tables[name])

    def _credentials(self, request: Mapping[str, Any]) -> UnityReply:
        found = [name for name, info in self.tables.items() if info["table_id"] == request["table_id"]]
        if not found:
            return UnityReply.refusing("TABLE_NOT_FOUND", f"Table not found: {request['table_id']}")
        if (refusal := self.refusal_of(found[0])) is not None:
            return refusal
        if request.get("operation") != "READ":
            return UnityReply.refusing("PERMISSION_DENIED", "Access denied.")
        info = self.tables[found[0]]
        if info["storage_location"] is None:
            return UnityReply.refusing("INVALID_ARGUMENT", "Storage location is null.")
        if info["table_type"] == "MANAGED" and self.delta_api_only:
            return UnityReply.refusing("INVALID_ARGUMENT", "Use the Delta API for managed tables")
        granted = self.granted(info)
        if granted is None:
            return UnityReply.refusing("FAILED_PRECONDITION", "S3 bucket configuration not found.")
        return UnityReply.of(granted)


def _without(info: Mapping[str, Any], query: Mapping[str, str]) -> dict[str, Any]:
    """Return an entry of a listing without the fields that the request omits."""
    kept = dict(info)
    if query.get("omit_columns") == "true":
        kept["columns"] = []
    if query.get("omit_properties") == "true":
        kept["properties"] = {}
    return kept
