"""All operations of clients."""

from __future__ import annotations

from soak.doors import (
    access,
    admin,
    assets,
    console,
    credentials,
    delegation,
    iceberg,
    pages,
    sharing,
)

OPERATIONS = (
    *sharing.OPERATIONS,
    *assets.OPERATIONS,
    *credentials.OPERATIONS,
    *iceberg.OPERATIONS,
    *access.OPERATIONS,
    *admin.OPERATIONS,
    *console.OPERATIONS,
    *delegation.OPERATIONS,
    *pages.OPERATIONS,
)
