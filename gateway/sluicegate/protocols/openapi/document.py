"""The OpenAPI 3.1 document of all endpoints for recipients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sluicegate.http.openapi import load_document, served_at

_PATHS = ("delta_sharing", "assets", "endpoints", "iceberg")
_SCHEMAS = (
    *("listings", "assets", "requests", "lines", "actions"),
    *("endpoints", "iceberg", "document"),
)
_FOLDER = Path(__file__).parent
_FILES = (
    _FOLDER / "document.yaml",
    *(_FOLDER / "paths" / f"{name}.yaml" for name in _PATHS),
    *(_FOLDER / "schemas" / f"{name}.yaml" for name in _SCHEMAS),
)


def document(public_url: str) -> dict[str, Any]:
    """Return the document of a gateway whose recipients use this URL."""
    return served_at(public_url, load_document(_FILES))
