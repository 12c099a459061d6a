"""The tables of many schemas at once, for listings that omit what cannot be listed now."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence

from sluicegate.api import Schema, SharedTable, SluicegateError, Unavailable

log = logging.getLogger(__name__)

# More concurrent requests would wait for the catalog's free connections until they time out.
_AT_ONCE = 16
# After this many consecutive failures, the catalog is considered down, and its other schemas are
# skipped.
_FAILURES = 16


async def tables_of_all(
    schemas: Sequence[Schema], tables: Callable[[Schema], Awaitable[Sequence[SharedTable]]]
) -> list[SharedTable]:
    """The tables of some schemas, in their order. Logs a warning for each schema that cannot be listed.

    Args:
        schemas: Schemas of one share.
        tables: Lists the tables of one of them.
    """
    listing = _Listing(tables)
    sources = [(each, each.source.catalog) for each in schemas if each.source]
    listed = iter(await asyncio.gather(*(listing.listed(*each) for each in sources)))
    found: list[SharedTable] = []
    for schema in schemas:
        found.extend(next(listed) if schema.source else await tables(schema))
    return found


class _Listing:
    """Lists schemas concurrently, with slots per catalog, so that a slow catalog delays no other."""

    def __init__(self, tables: Callable[[Schema], Awaitable[Sequence[SharedTable]]]) -> None:
        self._tables = tables
        self._slots: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_AT_ONCE)
        )
        self._failures: Counter[str] = Counter()

    async def listed(self, schema: Schema, catalog: str) -> Sequence[SharedTable]:
        """The tables of a catalog's schema, or none if they cannot be listed."""
        async with self._slots[catalog]:
            if self._failures[catalog] >= _FAILURES:
                return self._left_out(schema, f"the catalog '{catalog}' does not respond")
            try:
                found = await self._tables(schema)
            except SluicegateError as error:
                self._failures[catalog] += isinstance(error, Unavailable)
                return self._left_out(schema, error.for_operators)
            self._failures[catalog] = 0
            return found

    def _left_out(self, schema: Schema, reason: str) -> Sequence[SharedTable]:
        where = f"{schema.share.name}.{schema.name}"
        log.warning("schema %s is left out of the listing: %s", where, reason)
        return ()
