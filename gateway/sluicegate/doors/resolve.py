"""From the names in a request to an opened table: the grant, the shared table, the catalog's answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sluicegate.access.grants import Grants
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
    SharedTable,
    SluicegateError,
    Storage,
    TemporaryCredentials,
    Unavailable,
)
from sluicegate.doors.whole_schemas import WholeSchemas
from sluicegate.registry import Instances
from sluicegate.store.names import name_key
from sluicegate.telemetry import span
from sluicegate.vending import Vending

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A shared table together with where its catalog says it is, opened for a recipient.

    Attributes:
        credentials: What its catalog vended for its root; `None` where the storage uses its own.
    """

    principal: Principal
    shared: SharedTable
    source: CatalogTable
    storage: Storage
    directory: ObjectDirectory
    credentials: TemporaryCredentials | None = None


class Resolver:
    """Finds what a recipient names, among what it was granted and policies leave of that."""

    def __init__(self, grants: Grants, instances: Instances, vending: Vending) -> None:
        self._grants = grants
        self._instances = instances
        self._vending = vending
        self._whole = WholeSchemas(instances)
        self._policies = Policies(instances.policies)

    async def tables(self, schema: Schema) -> Sequence[SharedTable]:
        """The tables of a schema, sorted by name: those declared, or those its catalog holds now.

        Raises:
            Unavailable: The catalog of a schema that is shared whole does not answer.
        """
        if schema.source is None:
            return await self._grants.tables(schema)
        return (await self._whole.tables(schema, schema.source)).ordered

    async def all_tables(self, principal: Principal, share: str) -> list[SharedTable]:
        """The tables of all schemas of a share; a catalog that is down hides its own tables only.

        Catalogs are asked side by side, so one that hangs is waited for once, not for each schema.
        """
        schemas = await self._grants.schemas(principal, share)
        listed = await asyncio.gather(*(self._listed_or_none(each) for each in schemas if each.source))
        whole = iter(listed)
        found: list[SharedTable] = []
        for schema in schemas:
            found.extend(next(whole) if schema.source else await self._grants.tables(schema))
        return found

    async def _listed_or_none(self, schema: Schema) -> Sequence[SharedTable]:
        try:
            return await self.tables(schema)
        except SluicegateError as error:
            where = f"{schema.share.name}.{schema.name}"
            log.warning("schema %s is left out of the listing: %s", where, error.for_operators)
            return ()

    async def shown(self, principal: Principal, tables: Sequence[SharedTable]) -> Sequence[SharedTable]:
        """Those of some granted tables that a recipient may see: the policies decide for all at once.

        Raises:
            Unavailable: A policy cannot be asked now.
        """
        return await self._policies.readable(principal, tables)

    async def narrowed(
        self, principal: Principal, tables: Sequence[SharedTable]
    ) -> Sequence[SharedTable]:
        """Tables that a recipient may see, without `dir` where policies allow no credentials for it.

        Raises:
            Unavailable: A policy cannot be asked now.
        """
        return await self._policies.narrowed(principal, tables)

    async def table(
        self,
        principal: Principal,
        share: str,
        schema: str,
        name: str,
        action: PolicyAction = "read",
    ) -> SharedTable:
        """The shared table of that name, in any spelling of upper and lower case.

        Raises:
            NotFound: There is none, or its share was not granted, or a policy hides it.
            PermissionDenied: A policy allows no temporary credentials, which `action` says are wanted.
            Unavailable: A policy, or the catalog of a schema that is shared whole, cannot be asked now.
        """
        found = await self._grants.schema(principal, share, schema)
        if found.source is None:
            table = await self._grants.table(found, name)
        else:
            listing = await self._whole.tables(found, found.source)
            table = listing.by_key.get(name_key(name))
        if table is None or not await self._policies.allow(principal, "read", table):
            raise NotFound(f"there is no table {name!r} in {share}.{schema}")
        if action == "vend" and not await self._policies.allow(principal, "vend", table):
            raise PermissionDenied(
                f"the provider's policies allow no temporary credentials for {table.full_name}: read "
                "it by presigned URLs (url)"
            )
        return table

    async def locate(self, shared: SharedTable) -> CatalogTable:
        """Ask the catalog where the table is.

        Raises:
            NotFound: The catalog does not have it any more.
            Unavailable: The catalog cannot be used now.
        """
        with span("resolve", catalog=shared.catalog), _told_of(shared):
            return await self._instances.catalog(shared.catalog).load_table(shared.identifier)

    async def open(self, principal: Principal, shared: SharedTable) -> OpenTable:
        """Ask the catalog where the table is, and open it, with what the catalog vends if it does.

        Raises:
            NotFound: The catalog does not have it any more.
            Unavailable: The catalog or store cannot be used now.
        """
        return await self.open_located(principal, shared, await self.locate(shared))

    async def open_located(
        self, principal: Principal, shared: SharedTable, source: CatalogTable
    ) -> OpenTable:
        """Open a table whose catalog was asked already; see `open`."""
        with _told_of(shared):
            _, storage = self._instances.storage_for(source.location)
            credentials = await self._vending.for_gateway(principal, source)
            directory = await storage.open(source.location, credentials)
        return OpenTable(principal, shared, source, storage, directory, credentials)


@contextmanager
def _told_of(shared: SharedTable) -> Iterator[None]:
    """Tell errors of catalogs and storage in words that name the table alone."""
    try:
        yield
    except ConfigurationError as error:
        raise Unavailable(
            f"the table {shared.full_name} cannot be served now: its provider has to mend the "
            "gateway's configuration",
            detail=error.message,
        ) from error
    except NotFound as error:
        raise NotFound(
            f"the table {shared.full_name} is not there any more", detail=error.message
        ) from error
