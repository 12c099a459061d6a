"""The endpoints of the Iceberg REST catalog that the gateway serves."""

from __future__ import annotations

from sluicegate.protocols.openapi.iceberg import catalog, files
from sluicegate.protocols.openapi.schemas import Schema


def paths() -> dict[str, Schema]:
    """Path items, by paths relative to the catalog's `uri`."""
    return {**catalog.paths(), **files.paths(), **catalog.other_paths()}


def schemas() -> dict[str, Schema]:
    """The requests and responses of these endpoints."""
    return {**catalog.schemas(), **files.schemas()}
