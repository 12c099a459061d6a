"""Lists schemas page by page, and continues a failed listing at the page that failed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from sluicegate._util.lru import LRU
from sluicegate.api.errors import NotFound, SluicegateError, Unavailable
from sluicegate.api.models import ListedTable, TablePage

log = logging.getLogger(__name__)

_MOST_PAGES: Final = 10_000
_MOST_TABLES: Final = 1_000_000
# Maximum number of failed listings, and seconds for which they can be continued. Later, the schema may
# have changed too much.
_STOPPED: Final = 100
_CONTINUED_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class SchemaListing:
    """The tables of a schema, sorted by name, and the time at which the last page was requested."""

    tables: list[ListedTable]
    requested_at: float


@dataclass
class _Parts:
    """The pages so far, and the token of the next page."""

    requested_at: float
    tables: list[ListedTable] = field(default_factory=list)
    token: str | None = None
    seen: set[str] = field(default_factory=set)


class PagedListings:
    """Lists the schemas of one catalog.

    A listing needs one request for each page. If a request fails, the previous pages are kept, and the
    next listing of the schema continues there.

    Args:
        name: The catalog's name, for messages.
        fetch: Requests one page of a schema, by its token, or the first page.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        name: str,
        fetch: Callable[[str, str | None], Awaitable[TablePage]],
        clock: Callable[[], float],
    ) -> None:
        self._name = name
        self._fetch = fetch
        self._clock = clock
        self._stopped: LRU[str, _Parts] = LRU(_STOPPED)

    async def list(self, schema: str) -> SchemaListing:
        """Return all tables of a schema.

        Raises:
            NotFound: The schema does not exist.
            Unavailable: A page is not available now. The listing can be continued.
        """
        parts = self._stopped.pop(schema)
        if parts is None or self._clock() - parts.requested_at > _CONTINUED_SECONDS:
            parts = _Parts(self._clock())
        try:
            await self._complete(schema, parts)
        except NotFound:
            raise
        except SluicegateError:
            if parts.token is not None:
                self._stopped.put(schema, parts)
                log.warning(
                    "the listing of schema %r of catalog '%s' stopped after %d tables, and will be "
                    "continued there",
                    schema,
                    self._name,
                    len(parts.tables),
                )
            raise
        return SchemaListing(sorted(parts.tables, key=lambda table: table.name), parts.requested_at)

    async def _complete(self, schema: str, parts: _Parts) -> None:
        while True:
            requested_at = self._clock()
            page = await self._fetch(schema, parts.token)
            parts.tables.extend(page.tables)
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

    def _may_grow(self, parts: _Parts) -> bool:
        return len(parts.seen) < _MOST_PAGES and len(parts.tables) <= _MOST_TABLES
