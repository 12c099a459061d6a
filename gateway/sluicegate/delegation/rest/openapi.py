"""The OpenAPI document of the service, with the schema of the model of its payloads."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sluicegate.delegation.task_payload import TaskPayload
from sluicegate.http.openapi import load_document

_REFERENCE = "#/components/schemas/{model}"


@cache
def document() -> dict[str, Any]:
    """Return the document, with URLs relative to that of the service."""
    found = load_document([Path(__file__).with_name("openapi.yaml")])
    payload = TaskPayload.model_json_schema(ref_template=_REFERENCE)
    found["components"]["schemas"] |= {**payload.pop("$defs"), "TaskPayload": payload}
    return found
