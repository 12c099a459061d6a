"""The OpenAPI document of the service, based on the appendix of the Polaris delegation proposal."""

from __future__ import annotations

from typing import Any

from sluicegate import __version__
from sluicegate.delegation.payloads.task_payload import TaskPayload
from sluicegate.delegation.queue.states import STATUSES
from sluicegate.delegation.rest.responses import PREFIX, SCOPE, TOKEN_PATH

Schema = dict[str, Any]
_UUID: Schema = {"type": "string", "format": "uuid"}
_TEXT: Schema = {"type": "string"}
_ERRORS = {
    "400": "The payload is malformed, or the operation is not offered.",
    "401": "The request carries no valid credentials.",
    "403": "The client lacks the scope or the realm, or the realm is not granted what the task names.",
    "404": "The task does not exist.",
    "409": "The request conflicts with an existing task.",
    "413": "The payload is too large.",
    "429": "Too many concurrent requests; try again later.",
    "500": "An unexpected error occurred.",
    "502": "Something that the task needs failed: credentials, the store, or the engine.",
    "503": "The database does not respond, or there are too many concurrent requests; try again later.",
}


def document(server: str) -> dict[str, Any]:
    """Return the document for a service at a URL."""
    payload = TaskPayload.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = payload.pop("$defs")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sluicegate: delegation service", "version": __version__},
        "servers": [{"url": server + PREFIX}],
        "security": [{"OAuth2": [SCOPE]}, {"BearerAuth": []}, {"MutualTLS": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": _schemes(server),
            "schemas": {**schemas, "TaskPayload": payload, **_responses()},
            "responses": {code: _answer("ErrorResponse", told) for code, told in _ERRORS.items()},
        },
    }


def _paths() -> Schema:
    one = [{"name": "task_id", "in": "path", "required": True, "schema": _UUID}]
    names = _query("status_names", {"type": "string", "enum": ["stored", "asynchronous"]})
    return {
        "/v1/tasks/execute/synchronous": {
            "post": _operation(
                "executeSynchronousTask", "200", "TaskSuccessResponse", "400 409 413 502", body=True
            )
        },
        "/v1/tasks": {
            "post": _operation(
                "submitTask", "202", "TaskAccepted", "400 409 413", body=True, parameters=[names]
            ),
            "get": _operation("listTasks", "200", "TaskList", "400", parameters=[names, *_filters()]),
        },
        "/v1/tasks/{task_id}": {
            "get": _operation("getTask", "200", "TaskRecord", "404", parameters=[*one, names])
        },
        "/v1/tasks/{task_id}/history": {
            "get": _operation("getTaskHistory", "200", "TaskHistory", "404", parameters=one)
        },
        "/v1/tasks/{task_id}/cancel": {
            "post": _operation("cancelTask", "202", "TaskRecord", "404 409", parameters=one)
        },
        "/v1/tasks/{task_id}/retry": {
            "post": _operation("retryTask", "202", "TaskRecord", "404 409", parameters=one)
        },
    }


def _operation(
    name: str,
    status: str,
    schema: str,
    errors: str,
    *,
    body: bool = False,
    parameters: list[Schema] | None = None,
) -> Schema:
    codes = sorted({*errors.split(), "401", "403", "429", "500", "503"})
    refusals = {code: {"$ref": f"#/components/responses/{code}"} for code in codes}
    found: Schema = {
        "operationId": name,
        "responses": {status: _answer(schema, "Done."), **refusals},
    }
    if parameters:
        found["parameters"] = parameters
    if body:
        found["requestBody"] = {"required": True, **_content("TaskPayload")}
    return found


def _filters() -> list[Schema]:
    return [
        _query("status", {"type": "string", "enum": list(STATUSES)}),
        *(_query(name, _TEXT) for name in ("operation_type", "realm", "correlation_id", "after")),
        _query("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
    ]


def _query(name: str, schema: Schema) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _answer(schema: str, description: str) -> Schema:
    return {"description": description, **_content(schema)}


def _content(schema: str) -> Schema:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"content": {"application/json": {"schema": reference}}}


def _schemes(server: str) -> Schema:
    flow = {
        "tokenUrl": f"{server}{TOKEN_PATH}",
        "scopes": {SCOPE: "Allows submitting tasks to the Delegation Service."},
    }
    return {
        "OAuth2": {"type": "oauth2", "flows": {"clientCredentials": flow}},
        "BearerAuth": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "MutualTLS": {"type": "mutualTLS"},
    }


def _responses() -> Schema:
    count = {"type": "integer", "format": "int64", "minimum": 0}
    result = {"type": "object", "properties": {"files_deleted": count, "bytes_deleted": count}}
    task = _record({"task_id": _UUID, "version": {"type": "integer"}, "status": _TEXT})
    return {
        "TaskSuccessResponse": _record(
            {"delegation_task_id": _UUID, "status": {"const": "COMPLETED_SUCCESS"}},
            message=_TEXT,
            execution_result=result,
        ),
        "ErrorResponse": _record(
            {"error_code": _TEXT, "message": _TEXT},
            delegation_task_id=_UUID,
            status={"const": "FAILED_TERMINAL"},
            details=_TEXT,
        ),
        "TaskAccepted": _record(
            {"delegation_task_id": _UUID, "status": _TEXT, "status_query_url": _TEXT}
        ),
        "TaskRecord": task,
        "TaskList": _record({"tasks": {"type": "array", "items": task}}, next_after=_UUID),
        "TaskHistory": _record({"versions": {"type": "array", "items": {"type": "object"}}}),
    }


def _record(required: Schema, **optional: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}
