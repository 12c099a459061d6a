"""The gateway's OpenAPI document, and JSON values that are compared with its schemas."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema_rs

from sluicegate.protocols.openapi.document import document

DOCUMENT = document("https://share.example")
PATHS: dict[str, dict[str, Any]] = DOCUMENT["paths"]
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
METHODS = ("get", "head", "post", "put", "patch", "delete")


def paths_below(prefix: str) -> dict[str, dict[str, Any]]:
    """The path items below a prefix, by the rest of their paths."""
    return {path[len(prefix) :]: item for path, item in PATHS.items() if path.startswith(f"{prefix}/")}


def operations(paths: dict[str, dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """The operations of path items, by method and path."""
    return {
        (method, path): item[method]
        for path, item in paths.items()
        for method in METHODS
        if method in item
    }


def parameter(operation: dict[str, Any], name: str) -> dict[str, Any]:
    """The schema of a parameter."""
    [found] = [each["schema"] for each in operation["parameters"] if each["name"] == name]
    return dict(found)


def fits(schema: str, value: Any) -> bool:
    """Whether a value fits one of the document's schemas, with the format of its texts."""
    valid: bool = _validator(schema).is_valid(value)
    return valid


@cache
def _validator(schema: str) -> Any:
    return fitting({"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]})


def fitting(schema: dict[str, Any]) -> Any:
    """The validator of a schema."""
    return jsonschema_rs.validator_for(schema, validate_formats=True)
