"""Resolves the names in a request to an opened table: grant, shared table, catalog lookup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sluicegate.access.grants import Grants
from sluicegate.access.partition_filter import check_shared_in_part
from sluicegate.access.policies import Policies
from sluicegate.api import (
    CatalogTable,
    ConfigurationError,
    NotFound,
    ObjectDirectory,
    PermissionDenied,
    PolicyAction,
    Principal,
    Schema,
    Share,
    SharedKind,
    SharedTable,
    Storage,
    TemporaryCredentials,
    Unauthenticated,
    Unavailable,
)
from sluicegate.audit.trail import note_table
from sluicegate.plugins import Instances
from sluicegate.protocols.common.all_tables import shares_kind, tables_of_all
from sluicegate.protocols.common.share_schemas import SchemaTables, ShareSchemas
from sluicegate.tables.refs import at_ref
from sluicegate.telemetry import span
from sluicegate.vending import Vending

Shared = TypeVar("Shared", bound=SharedTable)


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A shared table together with its location from the catalog, opened for a recipient.

    Attributes:
        credentials: Credentials that the catalog vended for the table's root. `None` if the storage
            uses its own.
    """

    principal: Principal
    shared: SharedTable
    source: CatalogTable
    storage: Storage
    directory: ObjectDirectory
    credentials: TemporaryCredentials | None = None


class Resolver:
    """Finds what a recipient names, within its grants and what policies allow of them."""

    def __init__(self, grants: Grants, instances: Instances, vending: Vending) -> None:
        self._grants = grants
        self._instances = instances
        self._vending = vending
        self._share_schemas = ShareSchemas(grants, instances)
        self._schema_tables = SchemaTables(instances)
        self._policies = Policies(instances.policies)

    async def schemas(self, principal: Principal, share: str) -> Sequence[Schema]:
        """The schemas of a granted share, by name: declared ones, and those of its catalog now."""
        return await self._share_schemas.schemas(principal, share)

    async def schema(self, principal: Principal, share: str, name: str) -> Schema:
        """The schema with a name, which is case-insensitive; see `schemas`."""
        return await self._share_schemas.schema(principal, share, name)

    async def tables(self, schema: Schema) -> Sequence[SharedTable]:
        """The tables of a schema, by name: declared ones, or those that its catalog lists now."""
        if schema.source is None or not shares_kind(schema, "tables"):
            return await self._grants.tables(schema)
        return (await self._schema_tables.tables(schema, schema.source)).ordered

    async def all_tables(self, principal: Principal, share: str) -> list[SharedTable]:
        """The tables of all schemas of a share.

        If a catalog is down, only its own tables are missing.
        """
        return await tables_of_all(await self.reachable(principal, share, "tables"), self.tables)

    async def reachable(self, principal: Principal, share: str, kind: SharedKind) -> Sequence[Schema]:
        """The schemas of a share that can contain items of a kind; see `ShareSchemas.reachable`."""
        return await self._share_schemas.reachable(principal, share, kind)

    async def shown(self, principal: Principal, tables: Sequence[Shared]) -> Sequence[Shared]:
        """Return the granted tables or assets that a recipient can see, with one call per policy."""
        return await self._policies.readable(principal, tables)

    async def allows(self, principal: Principal, action: PolicyAction, table: SharedTable) -> bool:
        """Whether policies allow an action on a granted table or other asset."""
        return await self._policies.allow(principal, action, table)

    async def denied_by(
        self, principal: Principal, action: PolicyAction, table: SharedTable
    ) -> str | None:
        """The name of the policy that denies an action on a granted table or asset, or `None`."""
        return (await self._policies.denials(principal, action, [table])).get(table)

    async def narrowed(
        self, principal: Principal, tables: Sequence[SharedTable]
    ) -> Sequence[SharedTable]:
        """Tables that a recipient can see, without `dir` where policies deny credentials."""
        return await self._policies.narrowed(principal, tables)

    async def table(
        self,
        principal: Principal,
        share: str,
        schema: str,
        name: str,
        action: PolicyAction = "read",
    ) -> SharedTable:
        """The shared table with a name, which is case-insensitive."""
        table = await self.table_of(await self._share_schemas.schema(principal, share, schema), name)
        missing = NotFound(f"there is no table {name!r} in {share}.{schema}")
        if table is None:
            raise missing
        note_table(table)
        if (policy := await self.denied_by(principal, "read", table)) is not None:
            raise missing.decided_by(f"policy {policy}")
        if action == "vend":
            policy = await self.denied_by(principal, "vend", table)
            if policy is not None:
                raise credentials_denied(table).decided_by(f"policy {policy}")
        return table

    async def schemas_of(self, share: Share) -> Sequence[Schema]:
        """The schemas of a share; raises as `schemas` does."""
        return await self._share_schemas.schemas_of(share)

    async def schema_of(self, share: Share, name: str) -> Schema:
        """A schema of a share; raises as `schema` does."""
        return await self._share_schemas.schema_of(share, name)

    async def declared_schema(self, share: Share, name: str) -> Schema | None:
        """A schema that a share declares itself; `None` if it doesn't."""
        try:
            return await self._grants.schema_of(share, name)
        except NotFound:
            return None

    async def table_of(self, schema: Schema, name: str) -> SharedTable | None:
        """A table of a schema, before policies decide; `None` if there is none."""
        if schema.source is None or not shares_kind(schema, "tables"):
            return await self._grants.table(schema, name)
        return await self._schema_tables.table(schema, schema.source, name)

    async def locate(self, shared: SharedTable) -> CatalogTable:
        """Look up the table's location in its catalog."""
        with span("resolve", catalog=shared.catalog), _told_of(shared):
            try:
                source = await self._instances.catalog(shared.catalog).load_table(shared.identifier)
            except (PermissionDenied, Unauthenticated) as error:
                # The catalog does not know the recipient, so this is no 403 or 401.
                raise Unavailable(
                    f"the catalog of the table {shared.full_name} denies the gateway access; contact "
                    "the provider",
                    detail=error.for_operators,
                ) from error
        check_shared_in_part(shared, source)
        return at_ref(source, shared.ref)

    async def open(self, principal: Principal, shared: SharedTable) -> OpenTable:
        """Look up the table in its catalog, and open it, with vended credentials if there are any."""
        return await self.open_located(principal, shared, await self.locate(shared))

    async def open_located(
        self, principal: Principal, shared: SharedTable, source: CatalogTable
    ) -> OpenTable:
        """Open a table that was already looked up in its catalog; see `open`."""
        with _told_of(shared):
            canonical, storage = self._instances.storage_for(source.location)
            credentials = await self._vending.for_gateway(principal, source)
            directory = await storage.open(canonical, credentials)
        return OpenTable(principal, shared, source, storage, directory, credentials)


def credentials_denied(table: SharedTable) -> PermissionDenied:
    """The error if policies allow no temporary credentials for a table."""
    return PermissionDenied(
        f"the provider's policies allow no temporary credentials for {table.full_name}: read "
        "it by presigned URLs (url)"
    )


@contextmanager
def _told_of(shared: SharedTable) -> Iterator[None]:
    """Convert errors of catalogs and storage into errors that name only the table."""
    try:
        yield
    except ConfigurationError as error:
        raise Unavailable(
            f"the table {shared.full_name} cannot be served now: the provider must fix the "
            "gateway's configuration",
            detail=error.message,
        ) from error
    except NotFound as error:
        raise NotFound(
            f"the table {shared.full_name} no longer exists", detail=error.for_operators
        ) from error
