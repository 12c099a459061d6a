"""Schemas that are shared whole: their tables are those that a catalog lists now.

Recipients' names are case-insensitive and of one kind (delta-sharing-protocol.md, "Names"); catalogs
know others. What cannot be named is left out, and said so in the log.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import attrgetter
from uuid import NAMESPACE_URL, uuid5

from sluicegate.api import (
    Catalog,
    ConfigurationError,
    ListedTable,
    NotFound,
    Schema,
    SharedSchemaSource,
    SharedTable,
    Unavailable,
)
from sluicegate.lru import LRU
from sluicegate.registry import Instances
from sluicegate.store.names import check_name, name_key

log = logging.getLogger(__name__)

_CAPACITY = 200_000  # tables


@dataclass(frozen=True, slots=True)
class Listing:
    """The tables of a schema, sorted by casefolded name, and by it."""

    ordered: Sequence[SharedTable]
    by_key: Mapping[str, SharedTable]


@dataclass(frozen=True, slots=True)
class _Made:
    """A listing, and what it was made of."""

    schema: Schema
    listed: Sequence[ListedTable]
    listing: Listing


class WholeSchemas:
    """Lists schemas that are shared whole.

    A listing is made once for each answer of the catalog, however many requests ask for its tables.
    """

    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._made: LRU[str, _Made] = LRU(_CAPACITY, lambda made: len(made.listed) + 1)

    async def tables(self, schema: Schema, source: SharedSchemaSource) -> Listing:
        """The tables that a schema has now.

        Raises:
            NotFound: The catalog does not have the schema any more.
            Unavailable: The catalog cannot be used now.
        """
        where = f"{schema.share.name}.{schema.name}"
        try:
            catalog = self._instances.catalog(source.catalog)
            listed = await catalog.listed_tables(source.schema)
        except NotFound as error:
            raise NotFound(f"the schema {where} is not there any more", detail=error.message) from error
        except (ConfigurationError, Unavailable) as error:
            raise Unavailable(
                f"the schema {where} cannot be listed now; try again later",
                detail=": ".join(filter(None, (error.message, error.detail))),
            ) from error
        made = self._made.get(schema.id)
        if made is None or made.schema != schema or made.listed != listed:
            made = _Made(schema, listed, _listing(schema, source, catalog, listed))
            self._made.put(schema.id, made)
        return made.listing


def _listing(
    schema: Schema, source: SharedSchemaSource, catalog: Catalog, listed: Iterable[ListedTable]
) -> Listing:
    shown = {each.name: each for each in listed if _is_shared(each.name, source)}
    tables = [
        _shared_table(schema, source, each, catalog.identifier(source.schema, each.name))
        for each in _nameable(shown.values(), f"{schema.share.name}.{schema.name}")
    ]
    by_key = {
        name_key(table.name): table for table in sorted(tables, key=lambda table: name_key(table.name))
    }
    return Listing(tuple(by_key.values()), by_key)


def _nameable(tables: Iterable[ListedTable], where: str) -> Iterator[ListedTable]:
    """The tables that a recipient can name, and no other table by the same name."""
    named = sorted(tables, key=attrgetter("name"))
    spellings = Counter(name_key(table.name) for table in named)
    for table in named:
        try:
            check_name("table", table.name)
        except ValueError as error:
            log.warning("table %r of %s is not shared: %s", table.name, where, error)
            continue
        if spellings[name_key(table.name)] > 1:
            log.warning(
                "table %r of %s is not shared: another's name differs in upper and lower case alone",
                table.name,
                where,
            )
            continue
        yield table


def _shared_table(
    schema: Schema, source: SharedSchemaSource, listed: ListedTable, identifier: str
) -> SharedTable:
    # With the catalog's id, a table that is created anew is another one, and a renamed one the same.
    named = f"{schema.id}/{listed.name}" if listed.id is None else f"{schema.id}#{listed.id}"
    return SharedTable(
        id=str(uuid5(NAMESPACE_URL, named)),
        share=schema.share.name,
        share_id=schema.share.id,
        schema=schema.name,
        name=listed.name,
        catalog=source.catalog,
        identifier=identifier,
        comment=source.comment,
        history=source.history,
        change_feed=source.change_feed,
        start_version=source.start_version,
        partition_filter=source.partition_filter,
        access_modes=source.access_modes,
    )


def _is_shared(name: str, source: SharedSchemaSource) -> bool:
    return _matches(name, source.include) and not _matches(name, source.exclude)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)
