"""The tables of a schedule that fires after another one: those whose tasks have succeeded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from sqlalchemy import select

from sluicegate.database import Store
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.schedules.listing import BATCH
from sluicegate.delegation.schedules.selection import TableName, TableSelection


class SucceededTables:
    """The selected tables among those whose tasks of a firing have succeeded, sorted by name."""

    def __init__(self, store: Store, selection: TableSelection, firing_id: str) -> None:
        self._store = store
        self._selection = selection
        self._firing_id = firing_id

    async def batches(self, after: TableName | None) -> AsyncGenerator[Sequence[TableName], None]:
        """Return the tables in batches."""
        entity = tasks.c.payload["operation_parameters"]["table_identity"]["table_entity_id"]
        query = select(entity.as_string()).where(
            tasks.c.firing_id == self._firing_id, tasks.c.status == "SUCCESS"
        )
        async with self._store.read() as connection:
            found = map(TableName.parse, (await connection.execute(query)).scalars())
            names = sorted(name for name in found if self._selection.selects(name))
        left = [name for name in names if after is None or name > after]
        for start in range(0, len(left), BATCH):
            yield left[start : start + BATCH]
