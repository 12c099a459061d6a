"""A ledger on each kind of database, and an issuance whose vendor and clock the tests hold."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from support.process.clock import Clock
from support.servers.databases import database_url, store

from sluicegate.access.grants import Grants
from sluicegate.access.recipients.service import Recipients
from sluicegate.api import CatalogTable, Event, Principal, SharedTable
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.plugins import Instances, Registry, configure
from sluicegate.plugins.context import NoLinks
from sluicegate.vending import Ledger, Vending
from sluicegate.vending.entries import LedgerEntry
from sluicegate.vending.issue import Vendors
from sluicegate.vending.ledger_search import LedgerQuery, find_entries
from sluicegate_testing.fakes import MemoryVendor

__all__ = ["database_url", "store"]

ROOT = "memory://lake/orders"
ORDERS = SharedTable("t1", "sales", "s1", "eu", "orders", "main", "eu.orders", history=True)
LIFETIME = 3600


@dataclass
class Desk:
    """An issuance under test."""

    vending: Vending
    ledger: Ledger
    store: Store
    vendor: MemoryVendor
    source: CatalogTable
    principals: dict[str, Principal]
    recipients: Recipients
    clock: Clock
    events: list[Event] = field(default_factory=list)

    async def entries(self, query: LedgerQuery | None = None) -> list[LedgerEntry]:
        """What is in the ledger by now, the newest first."""
        async with self.store.read() as connection:
            return await find_entries(connection, query or LedgerQuery())


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time() * 1000)


@pytest.fixture
async def desk(store: Store, clock: Clock) -> AsyncIterator[Desk]:
    recipients = Recipients(store, token_lifetime=86_400, rotation_grace=0, now=clock)
    for name in ("acme", "rival"):
        await recipients.create(name)
    principals = {
        each.name: Principal(each.id, each.name, "bearer", "192.0.2.7")
        for each in await recipients.list()
    }
    registry = Registry.load([])
    instances = Instances(registry, configure(Settings(), registry), links=NoLinks)
    ledger = Ledger(store, retention=86_400, now=clock)
    events: list[Event] = []
    vending = Vending(
        Vendors(instances),
        Grants(store, max_age=0),
        ledger,
        events.append,
        lifetime=LIFETIME,
        now=clock,
    )
    vendor = MemoryVendor()
    source = CatalogTable("c1", "delta", ROOT, vendor=vendor)
    yield Desk(vending, ledger, store, vendor, source, principals, recipients, clock, events)
    await vending.aclose()
    await instances.aclose()
