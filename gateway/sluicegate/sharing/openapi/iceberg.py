"""The addresses of the Iceberg door: what the gateway serves of the Iceberg REST catalog."""

from __future__ import annotations

from sluicegate.sharing.openapi.parameters import in_header, in_path, in_query
from sluicegate.sharing.openapi.pieces import (
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
from sluicegate.sharing.openapi.responses import json_answer, request_id

_NAMESPACES = "/v1/shares/{share}/namespaces"
_NAMESPACE = _NAMESPACES + "/{namespace}"
_TABLE = _NAMESPACE + "/tables/{table}"
_DONE: Schema = {"204": {"description": "It is so.", "headers": request_id()}}
_REFUSED = {
    "400": "The request cannot be served, or the table's metadata cannot be read.",
    "401": "The bearer token is missing, malformed, unknown, expired or revoked.",
    "403": "The recipient may not do this: the catalog is read-only.",
    "404": "It does not exist, was not granted, or is not offered by this catalog.",
    "413": "The body is larger than the gateway reads.",
    "429": "Too many requests of the recipient are under way.",
    "500": "An internal error.",
    "503": "A catalog or store does not answer now, or too many requests are under way.",
}
_WRITES = ("post", "put", "patch", "delete")
_PARTS = {
    "share": text("Name of the share, the catalog's warehouse."),
    "namespace": text("Name of a schema of the share."),
    "table": text("Name of the table."),
    "path": text("Whatever else; it may hold slashes."),
}


def paths() -> dict[str, Schema]:
    """Path items, by addresses relative to the catalog's `uri`."""
    warehouse = in_query("warehouse", text("Name of the share."), required=True)
    parent = in_query("parent", text("Lists what is in this namespace, which is nothing."))
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
    """What these addresses take and answer."""
    settings = mapping(text("A value."), "Settings of the client.")
    credential = record(
        "Settings that open what lies below a location.",
        {"prefix": text("The location."), "config": settings},
    )
    return {
        "IcebergError": only(
            "error",
            record(
                "What was wrong.",
                {
                    "message": text("For people."),
                    "type": text("Stable, for programs."),
                    "code": whole("The status.", 400, 599),
                },
            ),
        ),
        "IcebergConfig": record(
            "What clients have to know.",
            {
                "defaults": settings,
                "overrides": settings,
                "endpoints": many(text("Method and path."), "All that is served."),
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
                    "May be empty though there are more pages.",
                ),
                "next-page-token": _next_page(),
            },
        ),
        "IcebergTable": record(
            "LoadTableResult.",
            {
                "metadata-location": text("The metadata file."),
                "metadata": record(
                    "Its content, as Iceberg's specification says.",
                    {"format-version": whole("Of the table.", 1, 3)},
                ),
                "config": settings,
            },
            {"storage-credentials": many(schema_ref("IcebergStorageCredential"), "Exactly one.")},
        ),
        "IcebergStorageCredential": credential,
        "IcebergCredentials": only(
            "storage-credentials", many(schema_ref("IcebergStorageCredential"), "Exactly one.")
        ),
        "IcebergReport": record("A report about a scan; nothing of it is kept.", {}),
    }


def _namespace() -> Schema:
    return many(text("Name of the schema."), "One name.", minItems=1, maxItems=1)


def _next_page() -> Schema:
    return {"type": ["string", "null"], "description": "For the next page; null on the last."}


def _paged() -> list[Schema]:
    return [
        in_query("pageSize", whole("Most items of one page; above 1000 it is 1000.", 1)),
        in_query("pageToken", text("`next-page-token` of the page before; empty for the first.")),
    ]


def _load() -> Schema:
    wanted = text("`vended-credentials`; without it there are no credentials in the answer.")
    loaded = json_answer("The table.", "IcebergTable")
    loaded["headers"] |= {"ETag": {"required": True, "schema": text("Of metadata and credentials.")}}
    unchanged = {"description": "The table is as the client has it.", "headers": request_id()}
    return _operation(
        "icebergLoadTable",
        "loadTable",
        {"200": loaded, "304": unchanged},
        in_header("X-Iceberg-Access-Delegation", wanted),
        in_header("If-None-Match", text("An `ETag`.")),
        in_query("snapshots", choice("Which snapshots: by default all.", "all", "refs")),
    )


def _report() -> Schema:
    body = {"content": {"application/json": {"schema": schema_ref("IcebergReport")}}}
    described = _operation("icebergReportMetrics", "reportMetrics", _DONE)
    return {**described, "requestBody": body}


def _elsewhere() -> dict[str, Schema]:
    unknown = {"get": _operation("icebergUnknown", "There is nothing else to read", {})}
    return unknown | {
        method: _operation(f"icebergRefuse{method.title()}", "Writes are refused", {})
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
