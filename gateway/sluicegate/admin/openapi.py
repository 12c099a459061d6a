"""The OpenAPI 3.1 document of the Admin API, made from its routes and models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from sluicegate import __version__
from sluicegate.access.shares_file.models import RecipientEntry, SchemaEntry, ShareEntry, TableEntry
from sluicegate.admin.endpoint import PREFIX, AdminRoute
from sluicegate.admin.schemas.resources import schemas
from sluicegate.protocols.openapi.parameters import in_header, in_path, in_query, paged
from sluicegate.protocols.openapi.responses import error_schema
from sluicegate.protocols.openapi.schemas import Schema, record, schema_ref, text

_NAMES = re.compile(r"\{(\w+)(?::\w+)?\}")
_CONVERTER = re.compile(r":\w+\}")
_REFERENCE = "#/components/schemas/{model}"
_ALWAYS = (400, 401, 403, 429, 500, 503)
_JSON = "application/json"
_FOR_ALL = " for all shares"
_ABOUT = """\
Administrators manage shares, recipients and grants. Resources have the form of a shares file. Responses
with a single resource have an `ETag`. With `If-Match` and `If-None-Match: *`, a change does not
overwrite that of another administrator. Errors are JSON with `errorCode` and `message`. Each operation
requires a role: `viewer`, `admin` or `owner`. Each role includes the permissions of those before it.
"""


def document(public_url: str, routes: Sequence[AdminRoute]) -> dict[str, Any]:
    """The document.

    Args:
        public_url: The URL of the gateway.
        routes: The routes that need a token.
    """
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        item = paths.setdefault(PREFIX + _CONVERTER.sub("}", route.path), {})
        names = _NAMES.findall(route.path)
        item["parameters"] = [in_path(name, text("A name.")) for name in names]
        item[route.method.lower()] = _operation(route)
    paths[f"{PREFIX}/openapi.json"] = {"get": _own()}
    models: set[type[BaseModel]] = {ShareEntry, SchemaEntry, TableEntry, RecipientEntry}
    models |= {route.body for route in routes if route.body is not None}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, defined = models_json_schema(
        [(model, "validation") for model in ordered], by_alias=True, ref_template=_REFERENCE
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sluicegate: Admin API",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": public_url}],
        "security": [{"adminToken": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "adminToken": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of `sluicegate admin create`.",
                }
            },
            "schemas": {"Error": error_schema(), **schemas(), **defined["$defs"]},
        },
    }


def _operation(route: AdminRoute) -> Schema:
    described: Schema = {
        "operationId": route.operation,
        "summary": route.summary,
        "description": f"Requires the role `{route.role}`{_FOR_ALL if route.all_shares else ''}.",
        "responses": {
            **{str(status): _answer(route, status) for status in route.status},
            **{
                str(status): _error(status)
                for status in sorted({*_ALWAYS, *route.errors, *((413,) if route.body else ())})
            },
        },
    }
    parameters = [in_query(name, text(about)) for name, about in route.parameters]
    if route.paged:
        parameters += paged()
    if 412 in route.errors:
        parameters.append(
            in_header("If-Match", text("The `ETag` that the resource must have, or `*`."))
        )
    if 412 in route.errors and 201 in route.status:
        parameters.append(in_header("If-None-Match", text("`*` creates the resource only.")))
    if 304 in route.errors:
        parameters.append(in_header("If-None-Match", text("The `ETag` of your copy.")))
    if parameters:
        described["parameters"] = parameters
    if route.body is not None:
        schema = schema_ref(route.body.__name__)
        described["requestBody"] = {"required": True, "content": {_JSON: {"schema": schema}}}
    return described


def _answer(route: AdminRoute, status: int) -> Schema:
    described: Schema = {"description": HTTPStatus(status).phrase + "."}
    if route.answer is not None:
        described["content"] = {_JSON: {"schema": schema_ref(route.answer)}}
    if {304, 412} & {*route.errors} and route.answer is not None:
        described["headers"] = {"ETag": {"schema": text("State of the resource.")}}
    return described


def _error(status: int) -> Schema:
    described: Schema = {"description": HTTPStatus(status).phrase + "."}
    return (
        described
        if status == 304
        else described | {"content": {_JSON: {"schema": schema_ref("Error")}}}
    )


def _own() -> Schema:
    return {
        "operationId": "openapi",
        "summary": "This document",
        "security": [],
        "responses": {
            "200": {
                "description": "OpenAPI 3.1.",
                "content": {_JSON: {"schema": record("A document.", {"openapi": {"const": "3.1.0"}})}},
            },
            "500": _error(500),
        },
    }
