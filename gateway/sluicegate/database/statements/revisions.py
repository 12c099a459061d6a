"""The revision of the database, and of each kind of rows that cached reads depend on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from sqlalchemy import select, update

from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.tables import revision

RevisionKind: TypeAlias = Literal["recipients", "credentials", "grants", "shares", "tables"]
"""Recipients; their credentials; grants; shares and schemas; tables and other assets."""

KINDS: Final[tuple[RevisionKind, ...]] = get_args(RevisionKind)
_COLUMNS = (revision.c.value, revision.c.attributed, *(revision.c[kind] for kind in KINDS))


@dataclass(frozen=True, slots=True)
class Revisions:
    """What was written until a moment."""

    value: int
    unattributed: int
    kinds: Mapping[RevisionKind, int]

    def changed(self, before: Revisions | None) -> Collection[RevisionKind]:
        """The kinds that may have changed since another moment, or forever."""
        if before is None or self.value < before.value or self.unattributed != before.unattributed:
            return KINDS
        return [kind for kind in KINDS if self.kinds[kind] != before.kinds[kind]]


async def read_revision(connection: AsyncConnection) -> int:
    """Return the number of write transactions that a transaction sees, with itself."""
    value: int = (await connection.execute(select(revision.c.value))).scalar_one()
    return value


async def read_revisions(connection: AsyncConnection) -> Revisions:
    """Return the revisions that a transaction sees."""
    value, attributed, *kinds = (await connection.execute(select(*_COLUMNS))).one()
    return Revisions(value, value - attributed, dict(zip(KINDS, kinds, strict=True)))


async def begin_write(connection: AsyncConnection, kinds: Collection[RevisionKind] | None) -> None:
    """Lock the revision for a write transaction, and count it."""
    counted = ["value"] if kinds is None else ["value", "attributed", *kinds]
    values = {name: revision.c[name] + 1 for name in counted}
    await connection.execute(update(revision).values(values))
