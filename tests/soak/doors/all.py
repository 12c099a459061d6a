"""All operations of clients."""

from __future__ import annotations

from soak.doors import access, credentials, iceberg, pages, sharing

OPERATIONS = (
    *sharing.OPERATIONS,
    *credentials.OPERATIONS,
    *iceberg.OPERATIONS,
    *access.OPERATIONS,
    *pages.OPERATIONS,
)
