"""Reads the time from the database, because machines that share it can have different clocks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class DatabaseNow(FunctionElement[int]):
    """The time at which the database began the statement, in epoch milliseconds.

    The value is constant within a statement, so that comparisons with it can use indexes. SQLite uses
    the clock of its machine.
    """

    name = "database_now"
    type = BigInteger()
    inherit_cache = True


@compiles(DatabaseNow, "postgresql")
def _of_postgresql(element: DatabaseNow, compiler: SQLCompiler, **kw: Any) -> str:
    return "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint)"


@compiles(DatabaseNow, "sqlite")
def _of_sqlite(element: DatabaseNow, compiler: SQLCompiler, **kw: Any) -> str:
    # Julian days, because SQLite 3.40 doesn't have `unixepoch('subsec')` yet.
    return "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"


NOW = DatabaseNow()
"""The current time. A single instance, so that SQLAlchemy compiles each statement once."""
