"""The policy: decisions of a Rego rule about sets of tables."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Final

from sluicegate.api import PluginContext, Policy, PolicyAction, Principal, SharedTable
from sluicegate_opa.client import OpaClient
from sluicegate_opa.config import OpaConfig
from sluicegate_opa.documents import Subject

Decide = Callable[[Subject, Sequence[SharedTable]], Awaitable[frozenset[SharedTable]]]
_Key = tuple[Subject, SharedTable]
_Flight = asyncio.Task[frozenset[SharedTable]]

_NONE: Final[frozenset[SharedTable]] = frozenset()


class Decisions:
    """Decides about sets of tables in batches, each table at most once in `max_age`.

    The age of a decision is measured from when its request was sent. Failures are not cached. If a
    caller is cancelled, the batches that it started continue for the others.
    """

    def __init__(
        self,
        decide: Decide,
        *,
        max_age: float,
        size: int,
        batch_size: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._decide = decide
        self._max_age = max_age
        self._size = size if max_age else 0
        self._batch_size = batch_size
        self._clock = clock
        self._known: OrderedDict[_Key, tuple[float, bool]] = OrderedDict()
        self._flying: dict[_Key, _Flight] = {}
        self._flights: set[_Flight] = set()

    async def allowed(
        self, subject: Subject, tables: Collection[SharedTable]
    ) -> frozenset[SharedTable]:
        """Return the allowed tables."""
        known = {table: self._decision(subject, table) for table in tables}
        open_tables = [table for table, decision in known.items() if decision is None]
        flights = self._flights_for(subject, open_tables)
        decided = await asyncio.gather(*map(asyncio.shield, flights))
        found = _NONE.union(*decided).intersection(open_tables)
        return found.union(table for table, decision in known.items() if decision)

    async def aclose(self) -> None:
        """Cancel the batches in progress."""
        flights = list(self._flights)
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)

    def _decision(self, subject: Subject, table: SharedTable) -> bool | None:
        key = (subject, table)
        entry = self._known.get(key)
        if entry is None:
            return None
        until, decision = entry
        if self._clock() >= until:
            del self._known[key]
            return None
        self._known.move_to_end(key)
        return decision

    def _flights_for(self, subject: Subject, tables: Sequence[SharedTable]) -> Collection[_Flight]:
        joined = {table: self._flying.get((subject, table)) for table in tables}
        flights = {flight for flight in joined.values() if flight is not None}
        missing = [table for table, flight in joined.items() if flight is None]
        return flights | {self._start(subject, batch) for batch in self._batches(missing)}

    def _batches(self, tables: Sequence[SharedTable]) -> Iterator[Sequence[SharedTable]]:
        for start in range(0, len(tables), self._batch_size):
            yield tables[start : start + self._batch_size]

    def _start(self, subject: Subject, batch: Sequence[SharedTable]) -> _Flight:
        flight = asyncio.create_task(self._decided(subject, batch))
        self._flights.add(flight)
        keys = [(subject, table) for table in batch] if self._max_age else []
        self._flying.update(dict.fromkeys(keys, flight))

        def landed(flight: _Flight) -> None:
            self._flights.discard(flight)
            for key in keys:
                del self._flying[key]
            if not flight.cancelled():
                flight.exception()  # retrieved, even if every caller was cancelled

        flight.add_done_callback(landed)
        return flight

    async def _decided(self, subject: Subject, batch: Sequence[SharedTable]) -> frozenset[SharedTable]:
        until = self._clock() + self._max_age
        allowed = await self._decide(subject, batch)
        if self._size:
            for table in batch:
                self._known[subject, table] = until, table in allowed
                self._known.move_to_end((subject, table))
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return allowed


# Each about one table: some 10 MB.
_CACHED_DECISIONS = 20_000
# The server decides about so many in some milliseconds.
_TABLES_PER_REQUEST = 500


class OpaPolicy(Policy):
    """Allows what a rule of an Open Policy Agent server allows."""

    def __init__(self, client: OpaClient, config: OpaConfig) -> None:
        self._client = client
        self._decisions = Decisions(
            client.allowed,
            max_age=config.max_age,
            size=_CACHED_DECISIONS,
            batch_size=_TABLES_PER_REQUEST,
        )

    @classmethod
    def configured(cls, config: OpaConfig, context: PluginContext) -> OpaPolicy:
        """Return the policy for a section of the configuration, without connecting to the server."""
        return cls(OpaClient.configured(context.name, config), config)

    async def allowed(
        self, principal: Principal, action: PolicyAction, tables: frozenset[SharedTable]
    ) -> frozenset[SharedTable]:
        """Return the tables that the rule allows."""
        return await self._decisions.allowed(Subject.of(principal, action), tables)

    def preload(self) -> None:
        """Import the library that sends requests."""
        self._client.preload()

    async def aclose(self) -> None:
        """End requests in progress, and close connections."""
        await self._decisions.aclose()
        await self._client.aclose()
