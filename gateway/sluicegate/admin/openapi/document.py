"""The OpenAPI 3.1 document of the Admin API, with the schemas of the models of its bodies."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from sluicegate.access.shares_file.models import RecipientEntry, SchemaEntry, ShareEntry, TableEntry
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.http.openapi import load_document, served_at

_FOLDER = Path(__file__).parent
_REFERENCE = "#/components/schemas/{model}"


def document(public_url: str, routes: Iterable[AdminRoute]) -> dict[str, Any]:
    """Return the document."""
    parts = sorted([*_FOLDER.glob("paths/*.yaml"), *_FOLDER.glob("schemas/*.yaml")])
    found = load_document([_FOLDER / "document.yaml", *parts])
    models: set[type[BaseModel]] = {ShareEntry, SchemaEntry, TableEntry, RecipientEntry}
    models |= {route.body for route in routes if route.body is not None}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, defined = models_json_schema(
        [(model, "validation") for model in ordered], by_alias=True, ref_template=_REFERENCE
    )
    found["components"]["schemas"] |= defined["$defs"]
    return served_at(public_url, found)
