"""Tells a database that is away from one that answers, and refuses what it is asked to store."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, StatementError

from sluicegate.errors import SluicegateError

# SQLSTATE classes: "data exception" and "program limit exceeded".
_REFUSING_CLASSES = ("22", "54")


class StatementRefused(SluicegateError):
    """The database answers, and cannot take a value: the same statement never succeeds."""


def is_refusal(error: BaseException) -> bool:
    """Whether a database refuses a statement's values, rather than being away."""
    if not isinstance(error, DBAPIError):
        return isinstance(error, StatementError)  # a value has no form that the driver takes
    raised = error.orig
    if isinstance(raised, sqlite3.Error):
        wrong_type = isinstance(raised, sqlite3.ProgrammingError) and "binding" in str(raised)
        return wrong_type or isinstance(raised, (sqlite3.DataError, sqlite3.InterfaceError))
    # asyncpg says so of values that it cannot send at all, without an SQLSTATE.
    driver_refuses = raised is not None and isinstance(raised.__cause__, ValueError)
    return driver_refuses or str(getattr(raised, "sqlstate", None))[:2] in _REFUSING_CLASSES
