"""The database's own clock: machines that share a database need not agree on the time."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class DatabaseNow(FunctionElement[int]):
    """Now, in epoch milliseconds: the moment at which the database began the statement.

    Constant within a statement, so that indexes serve comparisons with it. A database in a file has the
    clock of its machine.
    """

    name = "database_now"
    type = BigInteger()
    inherit_cache = True


@compiles(DatabaseNow, "postgresql")
def _of_postgresql(element: DatabaseNow, compiler: SQLCompiler, **kw: Any) -> str:
    return "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint)"


@compiles(DatabaseNow, "sqlite")
def _of_sqlite(element: DatabaseNow, compiler: SQLCompiler, **kw: Any) -> str:
    # Days since noon of 24 November 4714 BC; 3.40 has no `unixepoch('subsec')` yet.
    return "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"


NOW = DatabaseNow()
"""Now; the same one for all, so that statements are built once."""
