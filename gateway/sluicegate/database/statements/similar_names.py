"""Names that a message about an unknown name can suggest, also if there are very many."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Table, select, true

from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key

# Comparing a name with more of them would take noticeable time.
_MOST = 1000
_SAME_START = 2


async def similar_names(
    connection: AsyncConnection, table: Table, name: str, where: ColumnElement[bool] | None = None
) -> list[str]:
    """All names in a table, sorted; of more than a thousand, only those that start as a name does."""
    query = select(table.c.name).where(true() if where is None else where).order_by(table.c.key)
    found = (await connection.execute(query.limit(_MOST + 1))).scalars().all()
    if len(found) > _MOST:
        start = table.c.key.startswith(name_key(name)[:_SAME_START], autoescape=True)
        found = (await connection.execute(query.where(start).limit(_MOST))).scalars().all()
    return sorted(found, key=name_key)
