"""Schemas that are shared entirely: their tables or other assets are those that a catalog lists now.

Recipients' names are case-insensitive and restricted to certain characters (Delta Sharing protocol,
"Names"). Catalogs allow other names. Items that cannot be named are omitted, with a warning in the log.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import NAMESPACE_URL, uuid5

from sluicegate._util.lru import LRU
from sluicegate.access.selection import Selection
from sluicegate.api import (
    Catalog,
    ConfigurationError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    Schema,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    Unauthenticated,
    Unavailable,
)
from sluicegate.database.names import NamedKind, name_key
from sluicegate.plugins import Instances

log = logging.getLogger(__name__)

_CAPACITY = 200_000  # items


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str | None: ...
    @property
    def created_at(self) -> int | None: ...


Listed = TypeVar("Listed", bound=_Named)
Shared = TypeVar("Shared", bound=SharedTable)


@dataclass(frozen=True, slots=True)
class Listing(Generic[Shared]):
    """The items of a schema, sorted by casefolded name, and indexed by it."""

    ordered: Sequence[Shared]
    by_key: Mapping[str, Shared]


@dataclass(frozen=True, slots=True)
class _Made(Generic[Listed, Shared]):
    """A listing, and the inputs that it was built from."""

    schema: Schema
    listed: Sequence[Listed]
    listing: Listing[Shared]


class SchemaMembers(ABC, Generic[Listed, Shared]):
    """Lists the items of one kind in schemas that are shared entirely, and finds them by name.

    A listing is built once per catalog response, however many requests need its items.
    """

    def __init__(self, kind: NamedKind, instances: Instances) -> None:
        self._kind = kind
        self._instances = instances
        self._made: LRU[str, _Made[Listed, Shared]] = LRU(_CAPACITY, lambda made: len(made.listed) + 1)

    async def all(self, schema: Schema, source: SharedSchemaSource) -> Listing[Shared]:
        """The items that a schema has now."""
        where = f"{schema.share.name}.{schema.name}"
        try:
            catalog = self._instances.catalog(source.catalog)
            listed = await self._list(catalog, source.schema)
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
            made = _Made(schema, listed, self._listing(schema, source, catalog, listed))
            self._made.put(schema.id, made)
        return made.listing

    async def one(self, schema: Schema, source: SharedSchemaSource, name: str) -> Shared | None:
        """The item with a name, which is case-insensitive. `None` if there is none.

        Catalogs that support it are queried for this item only, because listing a large schema is slow.
        """
        made = self._made.get(schema.id)
        known = made.listing.by_key.get(name_key(name)) if made and made.schema == schema else None
        found = await self._by_name(schema, source, known.name if known else name, known)
        if found is not None:
            return found
        return (await self.all(schema, source)).by_key.get(name_key(name))

    async def _by_name(
        self, schema: Schema, source: SharedSchemaSource, name: str, known: Shared | None
    ) -> Shared | None:
        """The item with exactly this name, if the catalog can look up items by name.

        The last listing, in `known`, knows which of the catalog's names has an alias.
        """
        if known is None and source.alias is not None:
            return None
        try:
            catalog = self._instances.catalog(source.catalog)
            if not catalog.finds_by_name or not self._select([self._named(name)], source).shared:
                return None
            identifier = known.identifier if known else self._identifier(catalog, source.schema, name)
            found = await self._look_up(catalog, name, identifier)
        except (NotFound, ConfigurationError, InvalidRequest):
            return None  # different capitalization, no item, or no catalog: the listing decides
        except (PermissionDenied, Unauthenticated, Unavailable) as error:
            raise Unavailable(
                f"the {self._kind} {schema.share.name}.{schema.name}.{name} cannot be looked up now; "
                "try again later",
                detail=error.for_operators,
            ) from error
        # Policies decide by name, so a recipient must not choose its case.
        if known is None and found.name != name:
            return None
        return self._shared(schema, source, name, found, identifier)

    def _listing(
        self,
        schema: Schema,
        source: SharedSchemaSource,
        catalog: Catalog,
        listed: Sequence[Listed],
    ) -> Listing[Shared]:
        selected = self._select(listed, source)
        where = f"{schema.share.name}.{schema.name}"
        if not selected.left_out and (reason := self._empty(selected, len(listed), catalog)):
            log.warning("schema %s has %s", where, reason)
        for left_out in selected.left_out:
            log.warning(
                "%s %r of %s is not shared: %s", self._kind, left_out.name, where, left_out.reason
            )
        items = [
            self._shared(
                schema, source, name, each, self._identifier(catalog, source.schema, each.name)
            )
            for name, each in selected.shared
        ]
        by_key = {
            name_key(item.name): item for item in sorted(items, key=lambda item: name_key(item.name))
        }
        return Listing(tuple(by_key.values()), by_key)

    @abstractmethod
    async def _list(self, catalog: Catalog, schema: str) -> Sequence[Listed]:
        """List the items of a schema."""

    @abstractmethod
    async def _look_up(self, catalog: Catalog, name: str, identifier: str) -> Listed:
        """Look up an item, and return it as a listing would contain it."""

    @abstractmethod
    def _identifier(self, catalog: Catalog, schema: str, name: str) -> str:
        """Return the identifier for lookups."""

    @abstractmethod
    def _named(self, name: str) -> Listed:
        """Return an item of which only the name is known."""

    @abstractmethod
    def _select(self, listed: Sequence[Listed], source: SharedSchemaSource) -> Selection[Listed]:
        """Select what the source shares."""

    @abstractmethod
    def _empty(self, selected: Selection[Listed], listed: int, catalog: Catalog) -> str | None:
        """Return a warning about a schema without items."""

    @abstractmethod
    def _shared(
        self, schema: Schema, source: SharedSchemaSource, name: str, listed: Listed, identifier: str
    ) -> Shared:
        """Return an item with its name for recipients."""


def member_id(schema: Schema, listed: _Named, kind: str = "") -> str:
    """The id of an item for recipients.

    With the catalog's id, a re-created item gets a new id, and a renamed one keeps its id.
    """
    within = f"{schema.id}:{kind}" if kind else schema.id
    named = f"{within}/{listed.name}" if listed.id is None else f"{within}#{listed.id}"
    return str(uuid5(NAMESPACE_URL, named))
