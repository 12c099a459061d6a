"""Computes changes without the lock of writers, and makes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from sluicegate.access.shares_file.apply import changed_kinds, ending_access, write_changes
from sluicegate.access.shares_file.diff import Difference
from sluicegate.access.shares_file.entries import Entries
from sluicegate.admin.shares_file_parts import Content
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.statements.revisions import read_revision

# Times that changes are computed again because others wrote, before they are computed with the lock.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Prepared:
    """Changes that were computed in a transaction.

    Attributes:
        before: The resource before the changes, or `None`. A grant has the same content after them.
    """

    entries: Entries
    difference: Difference
    before: Content | None = None
    content: Content | None = None
    ends_access: bool = False


class Committer:
    """Makes changes of shares, recipients and grants."""

    def __init__(self, store: Store, now: Callable[[], int]) -> None:
        self._store = store
        self._now = now

    async def prepared(
        self,
        connection: AsyncConnection,
        entries: Entries,
        visible: Entries,
        difference: Difference,
        before: Content | None = None,
    ) -> Prepared:
        """Changes with the access that ends."""
        found = await ending_access(connection, entries, difference, self._now())
        known = [str(each) for each in found if ("recipient", (name_key(each.recipient),)) in visible]
        ending = replace(difference, ending=tuple(known))
        return Prepared(entries, ending, before, ends_access=bool(found))

    async def commit(
        self,
        prepare: Callable[[AsyncConnection], Awaitable[Prepared]],
        read: Callable[[AsyncConnection], Awaitable[Content | None]] | None = None,
    ) -> Prepared:
        """Compute changes, and make them if nothing was written in the meantime.

        Others that write, on SQLite also audit records of requests, wait only for the statements.

        Args:
            prepare: Computes the changes, and is called again if something was written.
        """
        for _ in range(_ATTEMPTS):
            async with self._store.read() as connection:
                revision = await read_revision(connection)
                prepared = await prepare(connection)
            if not prepared.difference.changes:
                return prepared
            kinds = changed_kinds(prepared.difference, ends_access=prepared.ends_access)
            async with self._store.write(kinds) as connection:
                if await read_revision(connection) == revision + 1:  # this transaction is the next one
                    return await self._write(connection, prepared, read)
                await connection.rollback()
        async with self._store.write() as connection:
            prepared = await prepare(connection)
            if prepared.difference.changes:
                return await self._write(connection, prepared, read)
            await connection.rollback()
            return prepared

    async def _write(
        self,
        connection: AsyncConnection,
        prepared: Prepared,
        read: Callable[[AsyncConnection], Awaitable[Content | None]] | None,
    ) -> Prepared:
        await write_changes(connection, prepared.entries, prepared.difference, self._now())
        return prepared if read is None else replace(prepared, content=await read(connection))
