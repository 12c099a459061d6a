"""Schemas that are shared entirely: their tables are those that a catalog lists now.

Recipients' names are case-insensitive and restricted to certain characters (Delta Sharing protocol,
"Names"). Catalogs allow other names. Tables that cannot be named are omitted, with a warning in the
log.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from sluicegate._util.lru import LRU
from sluicegate.access.empty_sources import empty_schema
from sluicegate.access.selection import select_tables
from sluicegate.api import (
    Catalog,
    ConfigurationError,
    InvalidRequest,
    ListedTable,
    NotFound,
    PermissionDenied,
    Schema,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    Unauthenticated,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.database.names import name_key
from sluicegate.plugins import Instances

log = logging.getLogger(__name__)

_CAPACITY = 200_000  # tables


@dataclass(frozen=True, slots=True)
class Listing:
    """The tables of a schema, sorted by casefolded name, and indexed by it."""

    ordered: Sequence[SharedTable]
    by_key: Mapping[str, SharedTable]


@dataclass(frozen=True, slots=True)
class _Made:
    """A listing, and the inputs that it was built from."""

    schema: Schema
    listed: Sequence[ListedTable]
    listing: Listing


class SchemaTables:
    """Lists schemas that are shared entirely.

    A listing is built once per catalog response, however many requests need its tables.
    """

    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._made: LRU[str, _Made] = LRU(_CAPACITY, lambda made: len(made.listed) + 1)

    async def tables(self, schema: Schema, source: SharedSchemaSource) -> Listing:
        """The tables that a schema has now.

        Raises:
            NotFound: The catalog no longer has the schema.
            Unavailable: The catalog cannot be used now.
        """
        where = f"{schema.share.name}.{schema.name}"
        try:
            catalog = self._instances.catalog(source.catalog)
            listed = await catalog.listed_tables(source.schema)
        except NotFound as error:
            raise NotFound(
                f"the schema {where} no longer exists", detail=error.for_operators
            ) from error
        except SluicegateError as error:
            # Any refusal concerns the gateway: the catalog does not know the recipient.
            raise Unavailable(
                f"the schema {where} cannot be listed now; try again later",
                detail=": ".join(filter(None, (error.message, error.detail))),
            ) from error
        made = self._made.get(schema.id)
        if made is None or made.schema != schema or made.listed != listed:
            made = _Made(schema, listed, _listing(schema, source, catalog, listed))
            self._made.put(schema.id, made)
        return made.listing

    async def table(self, schema: Schema, source: SharedSchemaSource, name: str) -> SharedTable | None:
        """The table with a name, which is case-insensitive. `None` if there is none.

        Catalogs that support it are queried for this table only, because listing a large schema is
        slow. If the catalog has the name, but not as a table that the gateway can read, such as a view,
        the result is a table that is not listed. Requests for it get the catalog's reason.

        Raises:
            NotFound: The catalog no longer has the schema.
            Unavailable: The catalog cannot be used now.
        """
        made = self._made.get(schema.id)
        listed = made.listing.by_key.get(name_key(name)) if made and made.schema == schema else None
        found = await self._by_name(schema, source, listed.name if listed else name, listed)
        if found is not None:
            return found
        listing = await self.tables(schema, source)
        return listing.by_key.get(name_key(name)) or await self._unreadable(schema, source, name)

    async def _by_name(
        self, schema: Schema, source: SharedSchemaSource, name: str, listed: SharedTable | None
    ) -> SharedTable | None:
        """The table with exactly this name, if the catalog can look up tables by name.

        The last listing, in `listed`, knows which of the catalog's names has an alias.
        """
        if listed is None and source.alias is not None:
            return None
        try:
            catalog = self._instances.catalog(source.catalog)
            if not catalog.finds_by_name or not select_tables([ListedTable(name)], source).shared:
                return None
            identifier = listed.identifier if listed else catalog.identifier(source.schema, name)
            table = await catalog.load_table(identifier)
        except (NotFound, ConfigurationError, InvalidRequest):
            return None  # different capitalization, no table, or no catalog: the listing decides
        except (PermissionDenied, Unauthenticated, Unavailable) as error:
            raise Unavailable(
                f"the table {schema.share.name}.{schema.name}.{name} cannot be looked up now; try "
                "again later",
                detail=error.for_operators,
            ) from error
        return _shared_table(schema, source, name, ListedTable(name, table.id), identifier)

    async def _unreadable(
        self, schema: Schema, source: SharedSchemaSource, name: str
    ) -> SharedTable | None:
        """The table with exactly this name, if its catalog rejects it with a reason for recipients."""
        if not select_tables([ListedTable(name)], source).shared:
            return None
        try:
            catalog = self._instances.catalog(source.catalog)
            identifier = catalog.identifier(source.schema, name)
            await catalog.load_table(identifier)
        except UnsupportedOperation:
            return _shared_table(schema, source, name, ListedTable(name), identifier)
        except SluicegateError:
            return None
        return None


def _listing(
    schema: Schema, source: SharedSchemaSource, catalog: Catalog, listed: Sequence[ListedTable]
) -> Listing:
    selected = select_tables(listed, source)
    where = f"{schema.share.name}.{schema.name}"
    if not selected.left_out and (reason := empty_schema(selected, len(listed), catalog)):
        log.warning("schema %s has %s", where, reason)
    for left_out in selected.left_out:
        log.warning("table %r of %s is not shared: %s", left_out.name, where, left_out.reason)
    tables = [
        _shared_table(schema, source, name, each, catalog.identifier(source.schema, each.name))
        for name, each in selected.shared
    ]
    by_key = {
        name_key(table.name): table for table in sorted(tables, key=lambda table: name_key(table.name))
    }
    return Listing(tuple(by_key.values()), by_key)


def _shared_table(
    schema: Schema, source: SharedSchemaSource, name: str, listed: ListedTable, identifier: str
) -> SharedTable:
    # With the catalog's id, a re-created table gets a new id, and a renamed one keeps its id.
    named = f"{schema.id}/{listed.name}" if listed.id is None else f"{schema.id}#{listed.id}"
    return SharedTable(
        id=str(uuid5(NAMESPACE_URL, named)),
        share=schema.share.name,
        share_id=schema.share.id,
        schema=schema.name,
        name=name,
        catalog=source.catalog,
        identifier=identifier,
        comment=source.comment,
        history=source.history,
        change_feed=source.change_feed,
        start_version=source.start_version,
        partition_filter=source.partition_filter,
        access_modes=source.access_modes,
    )
