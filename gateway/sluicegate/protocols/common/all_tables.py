"""The tables or assets of many schemas at once, for listings that omit what cannot be listed now."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from sluicegate.api import Schema, SharedKind, SharedTable, SluicegateError, Unavailable

log = logging.getLogger(__name__)

# More concurrent requests would wait for the catalog's free connections until they time out.
_AT_ONCE = 16
# After this many consecutive failures, the catalog is considered down, and its other schemas are
# skipped.
_FAILURES = 16


Shared = TypeVar("Shared", bound=SharedTable)
Members = Callable[[Schema], Awaitable[Sequence[Shared]]]


def shares_kind(schema: Schema, kind: SharedKind) -> bool:
    """Whether a schema contains the items of a kind that a catalog lists."""
    return schema.source is not None and kind in schema.source.kinds


async def tables_of_all(
    schemas: Sequence[Schema],
    tables: Members[Shared],
    kind: SharedKind = "tables",
    declared: Members[Shared] | None = None,
) -> list[Shared]:
    """The tables, or assets of a kind, of some schemas, in their order.

    Logs a warning for each schema that cannot be listed.
    """
    listing = _Listing(tables, declared)
    sources = [
        (each, each.source.catalog) for each in schemas if each.source and kind in each.source.kinds
    ]
    listed = iter(await asyncio.gather(*(listing.listed(*each) for each in sources)))
    found: list[Shared] = []
    for schema in schemas:
        found.extend(next(listed) if shares_kind(schema, kind) else await tables(schema))
    return found


class _Listing(Generic[Shared]):
    """Lists schemas concurrently, with slots per catalog, so that a slow catalog delays no other."""

    def __init__(self, tables: Members[Shared], declared: Members[Shared] | None) -> None:
        self._tables = tables
        self._declared = declared
        self._slots: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_AT_ONCE)
        )
        self._failures: Counter[str] = Counter()

    async def listed(self, schema: Schema, catalog: str) -> Sequence[Shared]:
        """The tables of a catalog's schema, or only the declared ones if they cannot be listed."""
        async with self._slots[catalog]:
            if self._failures[catalog] >= _FAILURES:
                return await self._left_out(schema, f"the catalog '{catalog}' does not respond")
            try:
                found = await self._tables(schema)
            except SluicegateError as error:
                self._failures[catalog] += isinstance(error, Unavailable)
                return await self._left_out(schema, error.for_operators)
            self._failures[catalog] = 0
            return found

    async def _left_out(self, schema: Schema, reason: str) -> Sequence[Shared]:
        where = f"{schema.share.name}.{schema.name}"
        log.warning("schema %s is left out of the listing: %s", where, reason)
        return () if self._declared is None else await self._declared(schema)
