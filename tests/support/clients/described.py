"""Compares JSON values with the schemas of the OpenAPI document."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema_rs

from sluicegate.protocols.openapi.document import document


def fits(schema: str, value: Any) -> bool:
    """Whether a value fits one of the document's schemas, with the format of its texts."""
    valid: bool = _validator(schema).is_valid(value)
    return valid


@cache
def _validator(schema: str) -> Any:
    components = document("https://share.example", "/delta-sharing")["components"]
    return fitting({"$ref": f"#/components/schemas/{schema}", "components": components})


def fitting(schema: dict[str, Any]) -> Any:
    """The validator of a schema."""
    return jsonschema_rs.validator_for(schema, validate_formats=True)
