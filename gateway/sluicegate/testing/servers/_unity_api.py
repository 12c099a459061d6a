"""What the stand-in for Unity Catalog knows, and how it answers."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sluicegate.testing.servers._unity_http import Asked, Reply

_API = "/api/2.1/unity-catalog"
_EXCHANGE = "/api/1.0/unity-control/auth/tokens"
_DELTA = "/delta/v1/catalogs/"
_MANAGED_FEATURE = "delta.feature.catalogManaged"
_MOST = 100
NOTHING = {
    "aws_temp_credentials": None,
    "azure_user_delegation_sas": None,
    "gcp_oauth_token": None,
    "expiration_time": None,
}


@dataclass
class UnityState:
    """A catalog's contents.

    Attributes:
        schemas: `catalog.schema`, beside those of tables.
        tables: By full name, as `table_info` makes them.
        forbidden: Full names that exist and must not be seen.
        commits: Of catalog-managed tables, by full name: what is not backfilled, and the newest one.
        credentials: What `temporary-table-credentials` answers, by table id; else nothing for `file:`,
            and for other storage that its bucket is not configured.
        tokens: Those that are accepted; `None` where authorization is off.
        exchanged: Access tokens by the identity token that they are given for.
        lifetime: Seconds that exchanged tokens are said to live.
        has_delta_api: The server knows `/delta/v1`.
        has_preview: The server knows `/delta/preview/commits`.
        delta_api_only: `server.managed-table.use-delta-api-only`.
    """

    schemas: list[str] = field(default_factory=list)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    commits: dict[str, tuple[list[dict[str, Any]], int]] = field(default_factory=dict)
    credentials: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens: set[str] | None = None
    exchanged: dict[str, str] = field(default_factory=dict)
    lifetime: int = 3600
    has_delta_api: bool = True
    has_preview: bool = False
    delta_api_only: bool = False

    def add(self, *infos: dict[str, Any]) -> None:
        """Register tables."""
        for info in infos:
            name = f"{info['catalog_name']}.{info['schema_name']}.{info['name']}"
            self.tables[name] = info

    def answer(self, asked: Asked) -> Reply:
        """What the server answers."""
        if asked.path == _EXCHANGE:
            return self._exchange(asked)
        if self.tokens is not None and asked.token not in self.tokens:
            return Reply.refusing("UNAUTHENTICATED")
        if not asked.path.startswith(_API):
            return Reply.no_route()
        path = asked.path.removeprefix(_API)
        if asked.method == "POST" and path == "/temporary-table-credentials":
            return self._credentials(asked.json)
        if asked.method != "GET":
            return Reply.no_route(405)
        if path in ("/catalogs", "/schemas", "/tables"):
            return self._listing(path, asked.query)
        if path.startswith("/tables/"):
            return self._seen(path.removeprefix("/tables/")) or self._table(path)
        if path.startswith(_DELTA) and self.has_delta_api:
            return self._delta(path.removeprefix(_DELTA), asked.query)
        if path == "/delta/preview/commits" and self.has_preview:
            return self._preview(asked.json)
        return Reply.no_route()

    def _exchange(self, asked: Asked) -> Reply:
        form = asked.form
        kinds = "urn:ietf:params:oauth:grant-type:token-exchange", "access_token", "id_token"
        given = (
            form.get("grant_type"),
            form.get("requested_token_type", "").rpartition(":")[2],
            form.get("subject_token_type", "").rpartition(":")[2],
        )
        token = self.exchanged.get(form.get("subject_token", ""))
        if given != kinds or token is None:
            return Reply.refusing("UNAUTHENTICATED", f"Invalid token: {form.get('subject_token')}")
        return Reply.of({"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime})

    def _listing(self, path: str, query: Mapping[str, str]) -> Reply:
        schemas = {*self.schemas, *(name.rpartition(".")[0] for name in self.tables)}
        catalogs = {name.partition(".")[0] for name in schemas}
        catalog = query.get("catalog_name", "")
        parent = f"{catalog}.{query.get('schema_name', '')}"
        if path != "/catalogs" and catalog not in catalogs:
            return Reply.refusing("CATALOG_NOT_FOUND")
        if path != "/catalogs" and {catalog, parent} & self.forbidden:
            return Reply.refusing("PERMISSION_DENIED")
        if path == "/catalogs":
            names, seen = sorted(catalogs), [{"name": name} for name in sorted(catalogs)]
        elif path == "/schemas":
            names = sorted(name for name in schemas if name.startswith(f"{catalog}."))
            seen = [{"name": name.partition(".")[2], "full_name": name} for name in names]
        elif parent not in schemas:
            return Reply.refusing("SCHEMA_NOT_FOUND")
        else:
            names = sorted(name for name in self.tables if name.startswith(f"{parent}."))
            left_out = {"columns"} if query.get("omit_columns") == "true" else set()
            seen = [
                {key: value for key, value in self.tables[name].items() if key not in left_out}
                for name in names
            ]
        return self._page(path[1:], list(zip(names, seen, strict=True)), query)

    def _page(
        self, key: str, entries: list[tuple[str, dict[str, Any]]], query: Mapping[str, str]
    ) -> Reply:
        size = min(int(query.get("max_results") or _MOST) or _MOST, _MOST)
        after = base64.b64decode(query.get("page_token", "")).decode()
        page = [entry for entry in entries if entry[0] > after][:size]
        # A full page promises another one; what must not be seen is taken out afterwards.
        token = base64.b64encode(page[-1][0].encode()).decode() if len(page) == size else None
        shown = [document for name, document in page if name not in self.forbidden]
        return Reply.of({key: shown, "next_page_token": token})

    def _seen(self, name: str) -> Reply | None:
        if name in self.forbidden:
            return Reply.refusing("PERMISSION_DENIED")
        return None if name in self.tables else Reply.refusing("TABLE_NOT_FOUND")

    def _table(self, path: str) -> Reply:
        return Reply.of(self.tables[path.removeprefix("/tables/")])

    def _credentials(self, asked: Mapping[str, Any]) -> Reply:
        found = [name for name, info in self.tables.items() if info["table_id"] == asked["table_id"]]
        if not found:
            return Reply.refusing("TABLE_NOT_FOUND")
        info = self.tables[found[0]]
        if found[0] in self.forbidden or asked["operation"] != "READ":
            return Reply.refusing("PERMISSION_DENIED")
        if info["table_type"] == "MANAGED" and self.delta_api_only:
            return Reply.refusing("INVALID_ARGUMENT")
        granted = self._granted(info)
        return Reply.refusing("FAILED_PRECONDITION") if granted is None else Reply.of(granted)

    def _granted(self, info: Mapping[str, Any]) -> dict[str, Any] | None:
        given = self.credentials.get(info["table_id"])
        if given is None and not info["storage_location"].startswith("file:"):
            return None
        return {**NOTHING, "url": info["storage_location"], **(given or {})}

    def _delta(self, route: str, query: Mapping[str, str]) -> Reply:
        catalog, _, schema, _, table, *rest = route.split("/")
        name = f"{catalog}.{schema}.{table}"
        if name in self.forbidden:
            return Reply.refusing_delta("PERMISSION_DENIED")
        if name not in self.tables:
            return Reply.refusing_delta("TABLE_NOT_FOUND")
        info = self.tables[name]
        if info["storage_location"] is None:
            return Reply.refusing_delta("INTERNAL")
        if rest == ["credentials"]:
            return self._delta_credentials(info, query["operation"])
        commits, latest = self.commits.get(name, ([], None))
        managed = {} if latest is None else {_MANAGED_FEATURE: "supported"}
        metadata = {
            "etag": "e1",
            "table-type": info["table_type"],
            "table-uuid": info["table_id"],
            "location": info["storage_location"],
            "columns": {"type": "struct", "fields": []},
            "partition-columns": [],
            "properties": {**info["properties"], **managed},
        }
        return Reply.of(
            {"metadata": metadata, "commits": commits, "latest-table-version": latest, "uniform": None}
        )

    def _delta_credentials(self, info: Mapping[str, Any], operation: str) -> Reply:
        granted = self._granted(info)
        if granted is None:
            return Reply.refusing_delta("FAILED_PRECONDITION")
        aws = granted["aws_temp_credentials"] or {}
        config = {
            "s3.access-key-id": aws.get("access_key_id"),
            "s3.secret-access-key": aws.get("secret_access_key"),
            "s3.session-token": aws.get("session_token"),
            "azure.sas-token": (granted["azure_user_delegation_sas"] or {}).get("sas_token"),
            "gcs.oauth-token": (granted["gcp_oauth_token"] or {}).get("oauth_token"),
        }
        entry = {
            "prefix": granted["url"],
            "operation": operation,
            "config": config,
            "expiration-time-ms": granted["expiration_time"],
        }
        return Reply.of({"storage-credentials": [entry]})

    def _preview(self, asked: Mapping[str, Any]) -> Reply:
        found = [
            name
            for name, info in self.tables.items()
            if (info["table_id"], info["storage_location"]) == (asked["table_id"], asked["table_uri"])
        ]
        if not found:
            return Reply.refusing("TABLE_NOT_FOUND")
        commits, latest = self.commits.get(found[0], ([], 0))
        spelled = [{key.replace("-", "_"): value for key, value in each.items()} for each in commits]
        wanted = [each for each in spelled if each["version"] >= asked["start_version"]]
        ascending = sorted(wanted, key=lambda each: int(each["version"]))
        # A page holds few, so that readers have to ask for more.
        return Reply.of({"commits": ascending[:2], "latest_table_version": latest})
