"""Inserts that can also update rows, in the dialect of each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Table

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite


def insert_into(table: Table, dialect: str) -> postgresql.Insert | sqlite.Insert:
    """An insert with `on_conflict_do_update`. The modules of the other dialect are never loaded."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)
