"""Endpoints for shares, schemas and tables."""

from __future__ import annotations

from sluicegate.protocols.openapi.iceberg.operations import (
    DONE,
    NAMESPACE,
    NAMESPACES,
    TABLE,
    get,
    item,
    operation,
)
from sluicegate.protocols.openapi.parameters import in_header, in_query
from sluicegate.protocols.openapi.responses import json_answer, request_id
from sluicegate.protocols.openapi.schemas import (
    Schema,
    choice,
    many,
    mapping,
    only,
    record,
    schema_ref,
    text,
    whole,
)

_WRITES = ("post", "put", "patch", "delete")


def paths() -> dict[str, Schema]:
    """Path items, by paths relative to the catalog's `uri`."""
    warehouse = in_query("warehouse", text("Name of the share."), required=True)
    parent = in_query(
        "parent", text("Lists the namespaces in this namespace, of which there are none.")
    )
    return {
        "/v1/config": {"get": get("icebergConfig", "getConfig", "IcebergConfig", warehouse)},
        NAMESPACES: item(
            "share",
            get=get("icebergListNamespaces", "listNamespaces", "IcebergNamespaces", parent, *_paged()),
        ),
        NAMESPACE: item(
            "share",
            "namespace",
            get=get("icebergLoadNamespace", "loadNamespaceMetadata", "IcebergNamespace"),
            head=operation("icebergNamespaceExists", "namespaceExists", DONE),
        ),
        f"{NAMESPACE}/tables": item(
            "share",
            "namespace",
            get=get("icebergListTables", "listTables", "IcebergTables", *_paged()),
        ),
        f"{NAMESPACE}/views": item(
            "share", "namespace", get=get("icebergListViews", "listViews", "IcebergTables")
        ),
        TABLE: item(
            *("share", "namespace", "table"),
            get=_load(),
            head=operation("icebergTableExists", "tableExists", DONE),
        ),
        f"{TABLE}/credentials": item(
            *("share", "namespace", "table"),
            get=get("icebergLoadCredentials", "loadCredentials", "IcebergCredentials"),
        ),
        f"{TABLE}/metrics": item(*("share", "namespace", "table"), post=_report()),
    }


def other_paths() -> dict[str, Schema]:
    """All other paths: the catalog is read-only."""
    return {"/{path}": item("path", **_elsewhere())}


def schemas() -> dict[str, Schema]:
    """The requests and responses of these endpoints."""
    settings = mapping(text("A value."), "Settings of the client.")
    credential = record(
        "Credentials for everything below a location.",
        {"prefix": text("The location."), "config": settings},
    )
    return {
        "IcebergError": only(
            "error",
            record(
                "The error.",
                {
                    "message": text("A message for people."),
                    "type": text("A stable name for programs."),
                    "code": whole("The HTTP status.", 400, 599),
                },
            ),
        ),
        "IcebergConfig": record(
            "Configuration for clients.",
            {
                "defaults": settings,
                "overrides": settings,
                "endpoints": many(text("Method and path."), "All supported endpoints."),
            },
        ),
        "IcebergNamespaces": record(
            "One page.",
            {"namespaces": many(_namespace(), "Names."), "next-page-token": _next_page()},
        ),
        "IcebergNamespace": record(
            "A schema of the share.", {"namespace": _namespace(), "properties": settings}
        ),
        "IcebergTables": record(
            "One page.",
            {
                "identifiers": many(
                    record("A table.", {"namespace": _namespace(), "name": text("Its name.")}),
                    "Can be empty even if there are more pages.",
                ),
                "next-page-token": _next_page(),
            },
        ),
        "IcebergTable": record(
            "LoadTableResult.",
            {
                "metadata-location": text("The metadata file."),
                "metadata": record(
                    "Its content, as defined by the Iceberg specification.",
                    {"format-version": whole("Configuration for the table.", 1, 3)},
                ),
                "config": settings,
            },
            {
                "storage-credentials": many(schema_ref("IcebergStorageCredential"), "Exactly one."),
                "remote-signing-config": mapping({}, "Where requests are signed."),
            },
        ),
        "IcebergStorageCredential": credential,
        "IcebergCredentials": only(
            "storage-credentials", many(schema_ref("IcebergStorageCredential"), "Exactly one.")
        ),
        "IcebergReport": record("A report about a scan. It is not stored.", {}),
    }


def _namespace() -> Schema:
    return many(text("Name of the schema."), "One name.", minItems=1, maxItems=1)


def _next_page() -> Schema:
    return {"type": ["string", "null"], "description": "Token of the next page. Null on the last page."}


def _paged() -> list[Schema]:
    return [
        in_query("pageSize", whole("Maximum number of items per page, at most 1000.", 1)),
        in_query(
            "pageToken", text("`next-page-token` of the previous page. Empty for the first page.")
        ),
    ]


def _load() -> Schema:
    wanted = text(
        "`vended-credentials` for credentials, `remote-signing` to read the table file by file, or "
        "both: then with credentials, if possible."
    )
    loaded = json_answer("The table.", "IcebergTable")
    loaded["headers"] |= {
        "ETag": {"required": True, "schema": text("Entity tag of metadata and credentials.")}
    }
    unchanged = {"description": "The client's copy of the table is current.", "headers": request_id()}
    return operation(
        "icebergLoadTable",
        "loadTable",
        {"200": loaded, "304": unchanged},
        in_header("X-Iceberg-Access-Delegation", wanted),
        in_header("If-None-Match", text("An `ETag`.")),
        in_query("snapshots", choice("Which snapshots to return. Default: all.", "all", "refs")),
    )


def _report() -> Schema:
    body = {"content": {"application/json": {"schema": schema_ref("IcebergReport")}}}
    described = operation("icebergReportMetrics", "reportMetrics", DONE)
    return {**described, "requestBody": body}


def _elsewhere() -> dict[str, Schema]:
    unknown = {"get": operation("icebergUnknown", "No other resource can be read", {})}
    return unknown | {
        method: operation(f"icebergRefuse{method.title()}", "Writes are rejected", {})
        for method in _WRITES
    }
