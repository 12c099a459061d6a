"""The parts of a gateway over catalogs, storage and grants in memory, without any I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.api import (
    AuthenticationRequest,
    Authenticator,
    Catalog,
    CatalogConfig,
    CatalogTable,
    CatalogType,
    NotFound,
    PluginConfig,
    Policy,
    PolicyAction,
    PolicyType,
    Principal,
    Schema,
    Share,
    SharedTable,
    StorageConfig,
    StorageType,
)
from sluicegate.database.names import name_key
from sluicegate.database.reads import RecipientRecord
from sluicegate.plugins import Instances, Registry
from sluicegate.plugins.configured import (
    ConfiguredCatalog,
    ConfiguredInstances,
    ConfiguredPolicy,
    ConfiguredStorage,
)
from sluicegate.plugins.context import NoLinks
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.testing.fakes import MemoryCatalog, VendingStorage
from sluicegate.vending import Ledger, Vending
from sluicegate.vending.entries import LedgerEntry
from sluicegate.vending.select import Vendors

ACME = Principal("r1", "acme", "bearer")
LAKE = "memory://lake"


class ListedCatalog(MemoryCatalog):
    """A catalog whose content a test changes, or that fails.

    Attributes:
        schemas: Its tables, by schema and name.
        failure: Raised instead of each response, once it is set.
        listings: How often it listed schemas or tables.
        lookups: The identifiers of the tables that it looked up.
    """

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


class MemoryGrants(Grants):
    """The grants of `ACME`; all other recipients have none.

    Args:
        shares: The granted shares.
        schemas: The declared schemas of all shares.
        tables: The tables that these declare, by the schema's id.
    """

    def __init__(
        self,
        shares: Sequence[Share] = (),
        schemas: Sequence[Schema] = (),
        tables: Mapping[str, Sequence[SharedTable]] | None = None,
    ) -> None:
        self._granted_shares = shares
        self._declared = schemas
        self._of_schemas = tables or {}

    async def recipient(self, name: str) -> RecipientRecord | None:
        id = ACME.id if name == ACME.name else "r2"
        return RecipientRecord(id, name, {}, (), None)

    async def shares(self, principal: Principal) -> Sequence[Share]:
        return self._granted_shares if principal.id == ACME.id else ()

    async def share(self, principal: Principal, name: str) -> Share:
        for share in await self.shares(principal):
            if name_key(share.name) == name_key(name):
                return share
        raise NotFound(f"there is no share {name!r}")

    async def schemas(self, principal: Principal, share: str) -> Sequence[Schema]:
        granted = await self.share(principal, share)
        return [schema for schema in self._declared if schema.share.id == granted.id]

    async def schema(self, principal: Principal, share: str, name: str) -> Schema:
        for schema in await self.schemas(principal, share):
            if name_key(schema.name) == name_key(name):
                return schema
        raise NotFound(f"there is no schema {name!r} in the share {share!r}")

    async def tables(self, schema: Schema) -> Sequence[SharedTable]:
        return self._of_schemas.get(schema.id, ())

    async def table(self, schema: Schema, name: str) -> SharedTable | None:
        named = [each for each in await self.tables(schema) if name_key(each.name) == name_key(name)]
        return named[0] if named else None


class MemoryLedger(Ledger):
    """Keeps the entries of issued credentials.

    Attributes:
        entries: In the order of the responses.
    """

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []

    async def write(self, entry: LedgerEntry) -> None:
        self.entries.append(entry)

    def note(self, entry: LedgerEntry) -> None:
        self.entries.append(entry)


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
    """Storage for `memory://lake/`, with the form `mem://` of its locations, and a resolver over it.

    Attributes:
        catalogs: By name.
        grants: Of `ACME`.
        absolute_paths: Directories that logs of all tables can name.
        policies: Restrict the recipient.
        storage: Serves the locations.
        ledger: Records issued credentials.
    """

    catalogs: Mapping[str, Catalog] = field(default_factory=dict)
    grants: Grants = field(default_factory=MemoryGrants)
    absolute_paths: tuple[str, ...] = ()
    policies: tuple[Policy, ...] = ()
    storage: SealableStorage = field(default_factory=SealableStorage)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)

    def __post_init__(self) -> None:
        kind = StorageType("memory", ("memory", "mem"), StorageConfig, lambda *_: self.storage)
        section = StorageConfig(prefix=self.storage.prefix, absolute_paths=self.absolute_paths)
        self.instances = _instances(
            kind,
            ConfiguredInstances(
                catalogs=tuple(_catalog(name, catalog) for name, catalog in self.catalogs.items()),
                storage=(ConfiguredStorage("memory-1", kind, section),),
                authenticators=(),
                policies=tuple(map(_policy, self.policies)),
            ),
        )
        self.vending = Vending(
            Vendors(self.instances), self.grants, self.ledger, lambda _: None, lifetime=3600
        )
        self.resolver = Resolver(self.grants, self.instances, self.vending)


def _instances(kind: StorageType, configured: ConfiguredInstances) -> Instances:
    class Types(Registry):
        def storage_types(self) -> Mapping[str, StorageType]:
            return {kind.name: kind}

    return Instances(Types([]), configured, links=NoLinks)


def _catalog(name: str, catalog: Catalog) -> ConfiguredCatalog:
    kind = CatalogType("memory", CatalogConfig, lambda *_: catalog)
    return ConfiguredCatalog(name, kind, CatalogConfig())


def _policy(policy: Policy) -> ConfiguredPolicy:
    kind = PolicyType("memory", PluginConfig, lambda *_: policy)
    return ConfiguredPolicy(type(policy).__name__, kind, PluginConfig())
