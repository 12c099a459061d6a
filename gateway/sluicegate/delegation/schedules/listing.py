"""Lists the tables that a schedule selects, in an order in which another service can continue."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence

import anyio.to_thread

from sluicegate.api import Catalog
from sluicegate.api.delegation.reports import UNSTORABLE
from sluicegate.api.errors import ConfigurationError, NotFound
from sluicegate.delegation.schedules.schedule import Schedule
from sluicegate.delegation.schedules.selection import TableName

BATCH = 100
"""Tables whose tasks are stored in one transaction."""
_SHOWN = 5


class SelectedTables:
    """The tables of a schedule, sorted by name, from the catalog as it is now."""

    def __init__(self, schedule: Schedule, catalogs: Mapping[str, Catalog]) -> None:
        self._schedule = schedule
        self._catalogs = catalogs
        self.missing: list[str] = []
        """Schemas that the schedule names, but the catalog does not have."""
        self.unusable = 0
        """Number of schemas and tables whose names no task can have."""

    async def batches(self, after: TableName | None) -> AsyncGenerator[Sequence[TableName], None]:
        """Return the tables in batches."""
        selection = self._schedule.selection
        listed = await self._catalog().list_schemas() if selection.lists_schemas else ()
        for schema in selection.schemas(self._usable(listed)):
            if after is not None and schema < after.schema:
                continue
            names = await self._names(schema) if selection.lists(schema) else ()
            # A schema can have many thousands of tables.
            found = await anyio.to_thread.run_sync(selection.tables, schema, self._usable(names))
            left = [name for name in found if after is None or name > after]
            for start in range(0, len(left), BATCH):
                yield left[start : start + BATCH]

    def notes(self) -> Iterator[str]:
        """What is unusual about the listing, for operators."""
        if self.unusable:
            yield f"{self.unusable} names of schemas or tables cannot be those of a task"
        if self.missing:
            shown = ", ".join(f"'{name[:100]}'" for name in self.missing[:_SHOWN])
            more = len(self.missing) - _SHOWN
            yield f"the catalog has no schema {shown}" + (f" and {more} more" if more > 0 else "")

    def _usable(self, names: Iterable[str]) -> list[str]:
        """Leave out names that no database can store; a position must be stored."""
        found = [*names]
        usable = [each for each in found if not UNSTORABLE.search(each)]
        self.unusable += len(found) - len(usable)
        return usable

    async def _names(self, schema: str) -> Sequence[str]:
        try:
            return await self._catalog().list_tables(schema)
        except NotFound:
            self.missing.append(schema)
            return ()

    def _catalog(self) -> Catalog:
        name = self._schedule.settings.listed_in
        if name not in self._catalogs:
            raise ConfigurationError(f"there is no catalog '{name}' in the configuration")
        return self._catalogs[name]
