"""The Delta API of the fake Unity Catalog, and its preview in version 0.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sluicegate_testing.servers.unity_catalog._unity_http import UnityReply, UnityRequest

_MANAGED_FEATURE = "delta.feature.catalogManaged"
_PREVIEW_PAGE = 2  # so few that readers must request further pages


class DeltaApiState(Protocol):
    """The part of a catalog that the Delta API reads. `UnityState` describes each attribute."""

    tables: dict[str, dict[str, Any]]
    commits: dict[str, tuple[list[dict[str, Any]], int]]
    uniform: dict[str, str]
    delta_api_only: bool

    def refusal_of(self, name: str) -> UnityReply | None:
        """The refusal of a request for a table, or `None`."""

    def granted(self, info: Mapping[str, Any]) -> dict[str, Any] | None:
        """Temporary credentials for a table, or `None`."""


def delta_table(state: DeltaApiState, route: str, query: Mapping[str, str]) -> UnityReply:
    """Return the response to `{catalog}/schemas/{schema}/tables/{table}` and its `credentials`."""
    catalog, _, schema, _, table, *rest = route.split("/")
    name = f"{catalog}.{schema}.{table}"
    if rest == ["credentials"] and query.get("operation") != "READ":
        return UnityReply.refusing("PERMISSION_DENIED", "Access denied.")
    # Errors of authorization have the first format, and occur before the Delta API is called.
    if (refusal := state.refusal_of(name)) is not None:
        return refusal
    info = state.tables[name]
    if info["storage_location"] is None:
        return UnityReply.refusing_delta("INTERNAL", "Storage location is null.")
    if rest == ["credentials"]:
        return _credentials(state, info)
    if info["data_source_format"] != "DELTA":
        return UnityReply.refusing_delta("INVALID_ARGUMENT", f"Table is not a Delta table: {name}")
    return UnityReply.of(_described(state, name, info))


def _described(state: DeltaApiState, name: str, info: Mapping[str, Any]) -> dict[str, Any]:
    commits, latest = state.commits.get(name, ([], None))
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
    newest_first = sorted(commits, key=lambda each: int(each["version"]), reverse=True)
    uniform = state.uniform.get(name)
    # Missing values have no key.
    return {
        "metadata": metadata,
        "commits": newest_first,
        **({} if latest is None else {"latest-table-version": latest}),
        **({} if uniform is None else {"uniform": {"iceberg": {"metadata-location": uniform}}}),
    }


def _credentials(state: DeltaApiState, info: Mapping[str, Any]) -> UnityReply:
    granted = state.granted(info)
    if granted is None:
        return UnityReply.refusing_delta("FAILED_PRECONDITION", "S3 bucket configuration not found.")
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
        "operation": "READ",
        "config": {key: value for key, value in config.items() if value is not None},
        "expiration-time-ms": granted["expiration_time"],
    }
    return UnityReply.of({"storage-credentials": [entry]})


def preview_commits(state: DeltaApiState, request: UnityRequest) -> UnityReply:
    """Return the response to `GET /delta/preview/commits`, whose parameters are in its body."""
    if not request.body:
        return UnityReply.refusing("INVALID_ARGUMENT", "Table ID is required")
    if state.delta_api_only:
        return UnityReply.refusing("INVALID_ARGUMENT", "Use the Delta API for managed tables")
    wanted = request.json
    found = [
        name
        for name, info in state.tables.items()
        if (info["table_id"], info["storage_location"]) == (wanted["table_id"], wanted["table_uri"])
    ]
    if not found:
        return UnityReply.refusing("TABLE_NOT_FOUND", f"Table not found: {wanted['table_id']}")
    if state.tables[found[0]]["table_type"] != "MANAGED":
        return UnityReply.refusing(
            "INVALID_ARGUMENT", "Only managed tables are supported for Delta commits"
        )
    commits, latest = state.commits.get(found[0], ([], 0))
    spelled = [{key.replace("-", "_"): value for key, value in each.items()} for each in commits]
    later = [each for each in spelled if each["version"] >= wanted["start_version"]]
    ascending = sorted(later, key=lambda each: int(each["version"]))
    return UnityReply.of({"commits": ascending[:_PREVIEW_PAGE], "latest_table_version": latest})
