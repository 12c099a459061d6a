"""A share with Iceberg tables in memory, for tests of the Iceberg catalog without a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from support.gateways.in_memory import InMemory, ListedCatalog
from support.gateways.memory_grants import MemoryGrants
from support.gateways.memory_instances import LAKE

from sluicegate.api import CatalogTable, Policy, Schema, Share, SharedTable
from sluicegate.protocols.common.iceberg_eligibility import IcebergOffers
from sluicegate.protocols.iceberg_rest.loading import TableLoader
from sluicegate.protocols.iceberg_rest.metadata import MetadataFiles

METADATA: Mapping[str, Any] = {
    "format-version": 2,
    "current-snapshot-id": 3,
    "snapshots": [{"snapshot-id": number} for number in (1, 2, 3)],
    "refs": {"old": {"snapshot-id": 1, "type": "tag"}},
}
SHARE = Share("s1", "sales")
SCHEMA = Schema("e", SHARE, "eu")


def shared(name: str, **options: Any) -> SharedTable:
    """A table of the share, with both access modes."""
    known = {"access_modes": ("url", "dir"), **options}
    return SharedTable(f"id of {name}", "sales", "s1", "eu", name, "lake", f"eu.{name}", **known)


def located(name: str, **options: Any) -> CatalogTable:
    """A table in its catalog, with a metadata file."""
    root = f"{LAKE}/{name}"
    known = {"metadata_location": f"{root}/metadata/v1.json", **options}
    return CatalogTable(f"uuid of {name}", "iceberg", root, **known)


@dataclass
class IcebergInMemory:
    """The share `sales` offers `orders` and `visits`, but not `plain`, `by_url` and `gone`.

    Attributes:
        schemas: The schemas of the share; `eu` has the tables.
        policies: Restrict the recipient.
    """

    schemas: list[Schema] = field(default_factory=lambda: [SCHEMA])
    policies: tuple[Policy, ...] = ()

    def __post_init__(self) -> None:
        tables = [located("orders"), located("visits"), located("by_url")]
        self.tables = {table.location.rpartition("/")[2]: table for table in tables}
        self.tables["plain"] = located("plain", metadata_location=None)
        self.catalog = ListedCatalog({"eu": self.tables})
        names = ("gone", "orders", "plain", "visits")
        declared = [shared("by_url", access_modes=("url",)), *map(shared, names)]
        self.grants = MemoryGrants([SHARE], self.schemas, {"e": declared})
        self.made = InMemory({"lake": self.catalog}, self.grants, policies=self.policies)
        self.offers = IcebergOffers(self.made.instances)
        self.metadata = MetadataFiles(self.made.resolver, self.made.instances)
        self.loader = TableLoader(self.made.resolver, self.offers, self.metadata, self.made.vending)

    async def put(self, name: str, content: Any = METADATA, file: str = "v1.json") -> None:
        """Write a metadata file: bytes, or a value as JSON."""
        written = content if isinstance(content, bytes) else orjson.dumps(content)
        await self.made.storage.put(f"{LAKE}/{name}/metadata/{file}", written)
