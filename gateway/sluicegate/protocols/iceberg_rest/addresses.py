"""Addresses of the catalog of a share."""

from __future__ import annotations

from urllib.parse import quote

from sluicegate.api import SharedTable

PREFIX = "shares/{share}"
NAMESPACES = "/v1/{prefix}/namespaces"
NAMESPACE = NAMESPACES + "/{namespace}"
TABLES = NAMESPACE + "/tables"
VIEWS = NAMESPACE + "/views"
TABLE = TABLES + "/{table}"
CREDENTIALS = TABLE + "/credentials"
METRICS = TABLE + "/metrics"
PLAN = TABLE + "/plan"
PLAN_RESULT = PLAN + "/{plan-id}"
TASKS = TABLE + "/tasks"
SIGN = TABLE + "/sign"


def prefix_of(share: str) -> str:
    """The value that clients use for `{prefix}` (docs/interop.md, "OpenSharing")."""
    return PREFIX.format(share=quote(share, safe=""))


def credentials_of(table: SharedTable) -> str:
    """The credentials of a table, relative to the catalog's `uri` as Java clients expect it."""
    return _relative(CREDENTIALS, table)


def signing_of(table: SharedTable) -> str:
    """Where requests for a table's files are signed, relative to the catalog's `uri`."""
    return _relative(SIGN, table)


def _relative(template: str, table: SharedTable) -> str:
    return template.removeprefix("/").format(
        prefix=prefix_of(table.share),
        namespace=quote(table.schema, safe=""),
        table=quote(table.name, safe=""),
    )
