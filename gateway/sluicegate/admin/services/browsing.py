"""Browses configured catalogs, to choose what to share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluicegate.api import Catalog
from sluicegate.api.errors import NotFound
from sluicegate.config.yaml import nearest
from sluicegate.database.names import name_key

# Requests to a catalog for one page of a search, and the tables that each of them compares.
_MOST_PAGES = 20
_SEARCHED = 1000

Position = Mapping[str, Any]
"""Where a page starts: the token of the catalog's page, and how many of its tables come before."""

START: Position = {"page": None, "start": 0}


@dataclass(frozen=True, slots=True)
class SchemaNames:
    """The schemas of a catalog, sorted, and a possible reason if there are none."""

    names: Sequence[str]
    reason: str | None


@dataclass(frozen=True, slots=True)
class TableNames:
    """Tables of a schema: their names, and what a shares file calls them.

    Attributes:
        following: Where the next page starts; `None` after the last one.
        reason: A possible reason for an empty listing.
    """

    items: Sequence[tuple[str, str]]
    following: Position | None
    reason: str | None = None


class CatalogBrowser:
    """Lists the catalogs with what the gateway can read of them.

    The methods raise `NotFound` if there is no such catalog or schema, and `Unavailable` if the catalog
    does not respond.
    """

    def __init__(self, catalogs: Callable[[], Mapping[str, Catalog]], types: Mapping[str, str]) -> None:
        self._catalogs = catalogs
        self._types = types

    def names(self) -> list[str]:
        """The names of the catalogs, sorted."""
        return sorted(self._types)

    def type_of(self, name: str) -> str:
        """The name of a catalog's plugin."""
        return self._types[name]

    def get(self, name: str) -> Catalog:
        """A catalog."""
        known = self._catalogs()
        if name not in known:
            raise NotFound(
                f"there is no catalog '{name}' in the configuration{nearest(name, [*known])}"
            )
        return known[name]

    async def schemas(self, name: str) -> SchemaNames:
        """The schemas of a catalog."""
        catalog = self.get(name)
        names = sorted(await catalog.list_schemas())
        return SchemaNames(names, None if names else catalog.reason_for_no_schemas)

    async def tables(self, name: str, schema: str, position: Position, size: int) -> TableNames:
        """A page of the tables of a schema."""
        catalog = self.get(name)
        # The catalog decides the size of its pages, so a page of it can be several of this listing.
        found = await catalog.table_page(schema, position["page"])
        names = sorted(table.name for table in found.tables)
        end = position["start"] + size
        items = [(each, catalog.identifier(schema, each)) for each in names[position["start"] : end]]
        following: Position | None = None
        if end < len(names):
            following = {"page": position["page"], "start": end}
        elif found.next_token is not None:
            following = {"page": found.next_token, "start": 0}
        is_empty = following is None and not names and position["page"] is None
        return TableNames(items, following, catalog.reason_for_none if is_empty else None)

    async def search(
        self, name: str, schema: str, text: str, position: Position, size: int
    ) -> TableNames:
        """A page of the tables whose names contain a text, in any case.

        A page can be shorter, also empty, although more follow: a request reads a limited number of
        the catalog's pages.
        """
        wanted, items = name_key(text), list[tuple[str, str]]()
        for _ in range(_MOST_PAGES):
            found = await self.tables(name, schema, position, _SEARCHED)
            for number, each in enumerate(found.items, 1):
                if wanted in name_key(each[0]):
                    items.append(each)
                if len(items) == size:
                    rest = {"page": position["page"], "start": position["start"] + number}
                    return TableNames(items, rest if number < len(found.items) else found.following)
            if found.following is None:
                return TableNames(items, None, found.reason)
            position = found.following
        return TableNames(items, position)
