"""Distinguishes an unreachable database from one that rejects a value."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, StatementError

from sluicegate.api.errors import SluicegateError

# SQLSTATE classes: "data exception" and "program limit exceeded".
_REFUSING_CLASSES = ("22", "54")


class StatementRefused(SluicegateError):
    """The database rejected a value, so repeating the statement never succeeds."""


def is_refusal(error: BaseException) -> bool:
    """Whether the database rejected a statement's values; otherwise it is unreachable."""
    if not isinstance(error, DBAPIError):
        return isinstance(error, StatementError)  # the driver can't encode a value
    raised = error.orig
    if isinstance(raised, sqlite3.Error):
        wrong_type = isinstance(raised, sqlite3.ProgrammingError) and "binding" in str(raised)
        return wrong_type or isinstance(raised, (sqlite3.DataError, sqlite3.InterfaceError))
    # asyncpg raises this for values that it cannot encode, without an SQLSTATE.
    driver_refuses = raised is not None and isinstance(raised.__cause__, ValueError)
    return driver_refuses or str(getattr(raised, "sqlstate", None))[:2] in _REFUSING_CLASSES
