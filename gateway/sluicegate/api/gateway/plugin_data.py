"""Tables of plugins in the gateway's database; part of `sluicegate.api`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from alembic.operations import Operations
    from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True, slots=True)
class Migration:
    """One change of the tables of a plugin, which the gateway makes once in each database.

    All pending migrations of a plugin run in one transaction. If one fails, nothing is changed, and the
    gateway does not start. The names of new tables begin with the name of the plugin and `_`, with `_`
    in place of other characters: `acme_notes` of the plugin `acme`.

    Attributes:
        name: A name that no other migration of the plugin has, such as `0001`.
        upgrade: Makes the change with Alembic's `Operations`: `op.create_table(…)`. It must work with
            SQLite and PostgreSQL, and is never called again after it was committed.
    """

    name: str
    upgrade: Callable[[Operations], None]


class PluginDatabase(Protocol):
    """The gateway's database, in which a plugin reads and writes the tables of its migrations.

    Connections are `AsyncConnection`s of SQLAlchemy. Both transactions are short: with SQLite, one
    transaction writes at a time, and recipients' requests wait for it.
    """

    def read(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Start a read-only transaction that sees one consistent state, for at most 10 seconds.

        Raises:
            Unavailable: The database does not respond.
        """

    def write(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Start a transaction, which is committed at the end of its block unless the block raises.

        Raises:
            Unavailable: The database does not respond.
        """
