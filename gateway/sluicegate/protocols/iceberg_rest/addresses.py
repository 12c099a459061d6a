"""Addresses of the catalog of a share: paths of URLs, and the locations that clients see."""

from __future__ import annotations

from urllib.parse import quote

from sluicegate.api import SharedTable
from sluicegate.protocols.iceberg_rest.file_access.file_paths import BUCKET

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


def location_of(table: SharedTable) -> str:
    """The location of a table for clients that read it file by file, which is not its real one."""
    names = (quote(name, safe="") for name in (table.share, table.schema, table.name))
    return "/".join((f"s3://{BUCKET}", *names))


def _relative(template: str, table: SharedTable) -> str:
    return template.removeprefix("/").format(
        prefix=prefix_of(table.share),
        namespace=quote(table.schema, safe=""),
        table=quote(table.name, safe=""),
    )
