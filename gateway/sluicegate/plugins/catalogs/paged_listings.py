"""Lists schemas page by page, and continues a failed listing at the page that failed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from sluicegate._util.lru import LRU
from sluicegate.api.errors import NotFound, SluicegateError, Unavailable

log = logging.getLogger(__name__)

_MOST_PAGES: Final = 10_000
_MOST_ITEMS: Final = 1_000_000
# Maximum number of failed listings, and seconds for which they can be continued. Later, the schema may
# have changed too much.
_STOPPED: Final = 100
_CONTINUED_SECONDS: Final = 300.0


class _Listed(Protocol):
    @property
    def name(self) -> str: ...


_Item = TypeVar("_Item", bound=_Listed)


@dataclass(frozen=True, slots=True)
class ListingPage(Generic[_Item]):
    """A page of tables, or of assets of one kind, and the token of the next page."""

    items: Sequence[_Item]
    next_token: str | None


@dataclass(frozen=True, slots=True)
class SchemaListing(Generic[_Item]):
    """The items of a schema, sorted by name, and the time at which the last page was requested."""

    items: list[_Item]
    requested_at: float


@dataclass
class _Parts(Generic[_Item]):
    """The pages so far, and the token of the next page."""

    requested_at: float
    items: list[_Item] = field(default_factory=list)
    token: str | None = None
    seen: set[str] = field(default_factory=set)


class PagedListings(Generic[_Item]):
    """Lists the tables, or the assets of one kind, in the schemas of one catalog.

    A listing needs one request for each page. If a request fails, the previous pages are kept, and the
    next listing of the schema continues there.
    """

    def __init__(
        self,
        name: str,
        fetch: Callable[[str, str | None], Awaitable[ListingPage[_Item]]],
        clock: Callable[[], float],
        what: str = "tables",
    ) -> None:
        self._name = name
        self._fetch = fetch
        self._clock = clock
        self._what = what
        self._stopped: LRU[str, _Parts[_Item]] = LRU(_STOPPED)

    async def list(self, schema: str) -> SchemaListing[_Item]:
        """Return all items of a schema."""
        parts = self._stopped.pop(schema)
        if parts is None or self._clock() - parts.requested_at > _CONTINUED_SECONDS:
            parts = _Parts[_Item](self._clock())
        try:
            await self._complete(schema, parts)
        except NotFound:
            raise
        except SluicegateError:
            if parts.token is not None:
                self._stopped.put(schema, parts)
                log.warning(
                    "the listing of schema %r of catalog '%s' stopped after %d %s, and will be "
                    "continued there",
                    schema,
                    self._name,
                    len(parts.items),
                    self._what,
                )
            raise
        return SchemaListing(sorted(parts.items, key=lambda item: item.name), parts.requested_at)

    async def _complete(self, schema: str, parts: _Parts[_Item]) -> None:
        while True:
            requested_at = self._clock()
            page = await self._fetch(schema, parts.token)
            parts.items.extend(page.items)
            parts.requested_at = requested_at
            if page.next_token is None:
                return
            if page.next_token in parts.seen or not self._may_grow(parts):
                parts.token = None  # the next listing starts from the beginning
                raise Unavailable(
                    f"the catalog '{self._name}' does not respond as expected; try again later",
                    detail=f"the listing of schema {schema!r} does not end",
                )
            parts.seen.add(page.next_token)
            parts.token = page.next_token

    def _may_grow(self, parts: _Parts[_Item]) -> bool:
        return len(parts.seen) < _MOST_PAGES and len(parts.items) <= _MOST_ITEMS
