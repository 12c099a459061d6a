"""From the names in a request to an opened table: the grant, the shared table, the catalog's answer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from uuid import NAMESPACE_URL, uuid5

from sluicegate.access.grants import Grants
from sluicegate.api import (
    CatalogTable,
    ConfigurationError,
    NotFound,
    ObjectDirectory,
    Principal,
    Schema,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    Storage,
    TemporaryCredentials,
    Unavailable,
)
from sluicegate.registry import Instances
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
    """Finds what a recipient names, among what it was granted."""

    def __init__(self, grants: Grants, instances: Instances, vending: Vending) -> None:
        self._grants = grants
        self._instances = instances
        self._vending = vending

    async def tables(self, schema: Schema) -> Sequence[SharedTable]:
        """The tables of a schema, sorted by name: those declared, or those its catalog holds now.

        Raises:
            Unavailable: The catalog of a schema that is shared whole does not answer.
        """
        if schema.source is None:
            return await self._grants.tables(schema)
        return await self._listed(schema, schema.source)

    async def all_tables(self, principal: Principal, share: str) -> list[SharedTable]:
        """The tables of all schemas of a share; a catalog that is down hides its own tables only."""
        found: list[SharedTable] = []
        for schema in await self._grants.schemas(principal, share):
            try:
                found.extend(await self.tables(schema))
            except SluicegateError as error:
                log.warning("schema %s of share %s is left out: %s", schema.name, share, error)
        return found

    async def table(self, principal: Principal, share: str, schema: str, name: str) -> SharedTable:
        """The shared table of that name, in any spelling of upper and lower case.

        Raises:
            NotFound: There is none, or its share was not granted.
        """
        found = await self._grants.schema(principal, share, schema)
        if found.source is None:
            table = await self._grants.table(found, name)
        else:
            listed = await self._listed(found, found.source)
            table = next((item for item in listed if item.name.casefold() == name.casefold()), None)
        if table is None:
            raise NotFound(f"there is no table {name!r} in {share}.{schema}")
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

    async def _listed(self, schema: Schema, source: SharedSchemaSource) -> list[SharedTable]:
        try:
            catalog = self._instances.catalog(source.catalog)
            names = await catalog.list_tables(source.schema)
        except ConfigurationError as error:
            raise Unavailable(
                f"the schema {schema.name} cannot be listed now", detail=error.message
            ) from error
        shown = [
            name
            for name in names
            if _matches(name, source.include) and not _matches(name, source.exclude)
        ]
        return [
            SharedTable(
                id=str(uuid5(NAMESPACE_URL, f"{schema.id}/{name}")),
                share=schema.share.name,
                share_id=schema.share.id,
                schema=schema.name,
                name=name,
                catalog=source.catalog,
                identifier=catalog.identifier(source.schema, name),
            )
            for name in sorted(shown, key=str.casefold)
        ]


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


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)
