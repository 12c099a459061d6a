"""The OpenAPI document, as a gateway with the default address serves it."""

from __future__ import annotations

import json

from sluicegate.config import Settings
from sluicegate.protocols.openapi.document import document


def openapi_page() -> str:
    """The document's JSON, indented for readers."""
    return json.dumps(document(Settings().public_url), indent=2, ensure_ascii=False) + "\n"
