"""JSON of shares, schemas, and tables in listings (Delta Sharing protocol, "List Shares" and on)."""

from __future__ import annotations

from typing import Any

from sluicegate.api import Schema, Share, SharedTable
from sluicegate.protocols.delta_sharing.encoding.ndjson import present


def share(item: Share) -> dict[str, Any]:
    """An item of `GET /shares`."""
    return present(
        name=item.name,
        id=item.id,
        displayName=item.display_name,
        comment=item.comment,
        properties=dict(item.properties) or None,
    )


def schema(item: Schema) -> dict[str, Any]:
    """An item of `GET /shares/{share}/schemas`."""
    return {"name": item.name, "share": item.share.name, "id": item.id}


def table(item: SharedTable) -> dict[str, Any]:
    """An item of the table listings."""
    return {
        "name": item.name,
        "schema": item.schema,
        "share": item.share,
        "shareId": item.share_id,
        "id": item.id,
    }
