"""The endpoints of the Iceberg REST catalog that the gateway serves."""

from __future__ import annotations

from sluicegate.protocols.openapi.parameters import in_header, in_path, in_query
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

_NAMESPACES = "/v1/shares/{share}/namespaces"
_NAMESPACE = _NAMESPACES + "/{namespace}"
_TABLE = _NAMESPACE + "/tables/{table}"
_DONE: Schema = {"204": {"description": "It exists.", "headers": request_id()}}
_REFUSED = {
    "400": "The request cannot be served, or the table's metadata cannot be read.",
    "401": "The bearer token is missing, malformed, unknown, expired or revoked.",
    "403": "The recipient is not allowed to do this: the catalog is read-only.",
    "404": "It does not exist, was not granted, or this catalog does not offer it.",
    "413": "The body is larger than the gateway accepts.",
    "429": "The recipient has too many concurrent requests.",
    "500": "An internal error.",
    "503": "A catalog or store does not respond now, or there are too many concurrent requests.",
}
_WRITES = ("post", "put", "patch", "delete")
_PARTS = {
    "share": text("Name of the share, the catalog's warehouse."),
    "namespace": text("Name of a schema of the share."),
    "table": text("Name of the table."),
    "path": text("Any other path, which can contain slashes."),
}


def paths() -> dict[str, Schema]:
    """Path items, by paths relative to the catalog's `uri`."""
    warehouse = in_query("warehouse", text("Name of the share."), required=True)
    parent = in_query(
        "parent", text("Lists the namespaces in this namespace, of which there are none.")
    )
    return {
        "/v1/config": {"get": _get("icebergConfig", "getConfig", "IcebergConfig", warehouse)},
        _NAMESPACES: _item(
            "share",
            get=_get("icebergListNamespaces", "listNamespaces", "IcebergNamespaces", parent, *_paged()),
        ),
        _NAMESPACE: _item(
            "share",
            "namespace",
            get=_get("icebergLoadNamespace", "loadNamespaceMetadata", "IcebergNamespace"),
            head=_operation("icebergNamespaceExists", "namespaceExists", _DONE),
        ),
        f"{_NAMESPACE}/tables": _item(
            "share",
            "namespace",
            get=_get("icebergListTables", "listTables", "IcebergTables", *_paged()),
        ),
        _TABLE: _item(
            *("share", "namespace", "table"),
            get=_load(),
            head=_operation("icebergTableExists", "tableExists", _DONE),
        ),
        f"{_TABLE}/credentials": _item(
            *("share", "namespace", "table"),
            get=_get("icebergLoadCredentials", "loadCredentials", "IcebergCredentials"),
        ),
        f"{_TABLE}/metrics": _item(*("share", "namespace", "table"), post=_report()),
        "/{path}": _item("path", **_elsewhere()),
    }


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
            {"storage-credentials": many(schema_ref("IcebergStorageCredential"), "Exactly one.")},
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
    wanted = text("`vended-credentials`; without it, the response contains no credentials.")
    loaded = json_answer("The table.", "IcebergTable")
    loaded["headers"] |= {
        "ETag": {"required": True, "schema": text("Entity tag of metadata and credentials.")}
    }
    unchanged = {"description": "The client's copy of the table is current.", "headers": request_id()}
    return _operation(
        "icebergLoadTable",
        "loadTable",
        {"200": loaded, "304": unchanged},
        in_header("X-Iceberg-Access-Delegation", wanted),
        in_header("If-None-Match", text("An `ETag`.")),
        in_query("snapshots", choice("Which snapshots to return. Default: all.", "all", "refs")),
    )


def _report() -> Schema:
    body = {"content": {"application/json": {"schema": schema_ref("IcebergReport")}}}
    described = _operation("icebergReportMetrics", "reportMetrics", _DONE)
    return {**described, "requestBody": body}


def _elsewhere() -> dict[str, Schema]:
    unknown = {"get": _operation("icebergUnknown", "No other resource can be read", {})}
    return unknown | {
        method: _operation(f"icebergRefuse{method.title()}", "Writes are rejected", {})
        for method in _WRITES
    }


def _get(identity: str, summary: str, schema: str, *parameters: Schema) -> Schema:
    return _operation(identity, summary, {"200": json_answer("OK.", schema)}, *parameters)


def _operation(identity: str, summary: str, ok: Schema, *parameters: Schema) -> Schema:
    described: Schema = {"operationId": identity, "summary": summary}
    if parameters:
        described["parameters"] = list(parameters)
    refused = {status: json_answer(why, "IcebergError") for status, why in _REFUSED.items()}
    return {**described, "responses": {**ok, **refused}}


def _item(*names: str, **operations: Schema) -> Schema:
    return {"parameters": [in_path(name, _PARTS[name]) for name in names], **operations}
