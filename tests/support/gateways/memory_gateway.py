"""The parts of a gateway in memory, without a process, a socket, a database or a file.

Grants, ledger, catalog, storage and table format are stand-ins; what is between them is the gateway's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from support.gateways.memory_grants import ACME, MemoryGrants
from support.gateways.memory_instances import LAKE, SigningStorage, memory_instances
from support.gateways.memory_ledger import MemoryLedger
from support.tables.memory_tables import MemoryFormat

from sluicegate.api import (
    CatalogTable,
    Event,
    Policy,
    Principal,
    SharedTable,
    Storage,
)
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.protocols.derived_files import DerivedLinks
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.reading.reader import TableReader
from sluicegate.vending import Vending
from sluicegate.vending.issue import Vendors
from sluicegate_testing.fakes import MemoryCatalog

PUBLIC_URL = "https://gateway.example"
KEYS = KeyRing((b"k" * 32,))
LIFETIME = 3600


def shared_table(name: str = "orders", **options: Any) -> SharedTable:
    """A table of the share `sales` and its schema `eu`, whose catalog is `main`."""
    return SharedTable(f"t-{name}", "sales", "s1", "eu", name, "main", f"eu.{name}", **options)


def catalog_table(name: str = "orders", **options: Any) -> CatalogTable:
    """A table as its catalog names it."""
    return CatalogTable(
        **{"id": f"c-{name}", "format": "memory", "location": f"{LAKE}/{name}", **options}
    )


@dataclass
class MemoryGateway:
    """The parts that the protocols share."""

    format: MemoryFormat
    storage: SigningStorage
    catalog: dict[str, CatalogTable]
    instances: Instances
    grants: MemoryGrants
    ledger: MemoryLedger
    vending: Vending
    resolver: Resolver
    reader: TableReader
    events: list[Event] = field(default_factory=list)

    async def open(self, shared: SharedTable, principal: Principal = ACME) -> OpenTable:
        """A table, opened for a recipient."""
        return await self.resolver.open(principal, shared)

    @property
    def signer(self) -> Signer:
        """Signs URLs through the storage."""
        derived = DerivedLinks(KEYS, PUBLIC_URL)
        return Signer(self.instances, self.vending, derived, LIFETIME)


def memory_gateway(
    *tables: SharedTable,
    format: MemoryFormat | None = None,
    sources: Sequence[CatalogTable] = (),
    absolute_paths: tuple[str, ...] = (),
    policy: Policy | None = None,
    storage: SigningStorage | None = None,
    more_storage: Sequence[Storage] = (),
) -> MemoryGateway:
    """Parts that serve some tables."""
    shared = tables or (shared_table(),)
    read = format or MemoryFormat()
    entries = {each.location.rpartition("/")[2]: each for each in sources} or {
        each.name: catalog_table(each.name) for each in shared
    }
    used = storage or SigningStorage()
    instances = memory_instances(
        used,
        *more_storage,
        catalogs={"main": MemoryCatalog({"eu": entries})},
        formats={"memory": read, "delta": read},
        policies={} if policy is None else {"policy": policy},
        absolute_paths=absolute_paths,
    )
    grants, ledger = MemoryGrants.of_tables(shared), MemoryLedger()
    events: list[Event] = []
    vending = Vending(Vendors(instances), grants, ledger, events.append, lifetime=LIFETIME)
    return MemoryGateway(
        format=read,
        storage=used,
        catalog=entries,
        instances=instances,
        grants=grants,
        ledger=ledger,
        vending=vending,
        resolver=Resolver(grants, instances, vending),
        reader=TableReader(instances.formats, 1 << 20),
        events=events,
    )
