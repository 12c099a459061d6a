"""The parts of a gateway over catalogs, storage and grants in memory, without any I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from support.gateways.memory_grants import ACME, MemoryGrants
from support.gateways.memory_instances import memory_instances
from support.gateways.memory_ledger import MemoryLedger

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.api import (
    AuthenticationRequest,
    Authenticator,
    Catalog,
    CatalogTable,
    Policy,
    PolicyAction,
    Principal,
    SharedTable,
    TableFormat,
)
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.vending import Vending
from sluicegate.vending.issue import Vendors
from sluicegate_testing.fakes import MemoryCatalog, VendingStorage


class ListedCatalog(MemoryCatalog):
    """A catalog whose content a test changes, or that fails."""

    def __init__(self, schemas: Mapping[str, Mapping[str, CatalogTable]] | None = None) -> None:
        self.schemas = dict(schemas or {})
        super().__init__(self.schemas)
        self.failure: Exception | None = None
        self.listings = 0
        self.lookups: list[str] = []

    async def list_schemas(self) -> list[str]:
        self._respond()
        return await super().list_schemas()

    async def list_tables(self, schema: str) -> list[str]:
        self._respond()
        return await super().list_tables(schema)

    async def load_table(self, identifier: str) -> CatalogTable:
        self.lookups.append(identifier)
        if self.failure is not None:
            raise self.failure
        return await super().load_table(identifier)

    def _respond(self) -> None:
        self.listings += 1
        if self.failure is not None:
            raise self.failure


class SealableStorage(VendingStorage):
    """Vends no credentials for directories below `/sealed`."""

    def vends(self, location: str) -> bool:
        return "/sealed" not in location


class NameAuthenticator(Authenticator):
    """Recognizes `ACME` by the header `Authorization: Bearer acme`."""

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        return ACME if request.authorization == "Bearer acme" else None


class Restricted(Policy):
    """Hides the table `secret`, and allows no temporary credentials."""

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        if action == "vend":
            return frozenset()
        return frozenset(table for table in tables if table.name != "secret")


def by_name() -> Authentication:
    """Authentication by the recipient's name."""
    return Authentication([NameAuthenticator()])


@dataclass
class InMemory:
    """Storage for `memory://lake/`, with the form `mem://` of its locations, and a resolver over it."""

    catalogs: Mapping[str, Catalog] = field(default_factory=dict)
    grants: Grants = field(default_factory=MemoryGrants)
    absolute_paths: tuple[str, ...] = ()
    formats: Mapping[str, TableFormat] = field(default_factory=dict)
    policies: tuple[Policy, ...] = ()
    storage: SealableStorage = field(default_factory=SealableStorage)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)

    def __post_init__(self) -> None:
        self.instances = memory_instances(
            self.storage,
            catalogs=self.catalogs,
            formats=self.formats,
            policies={type(each).__name__: each for each in self.policies},
            absolute_paths=self.absolute_paths,
        )
        self.vending = Vending(
            Vendors(self.instances), self.grants, self.ledger, lambda _: None, lifetime=3600
        )
        self.resolver = Resolver(self.grants, self.instances, self.vending)
