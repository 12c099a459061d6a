"""Statements that select what shares declare, by the shares of administrators and by names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, and_, literal, or_, select, true, union_all

from sluicegate.access.recipients.summaries import reads_share
from sluicegate.admin.identity import Admin
from sluicegate.database.names import name_key
from sluicegate.database.tables import schemas, shared_assets, shared_tables, shares


def managed(admin: Admin) -> ColumnElement[bool]:
    """Whether a row of `shares` is one that an administrator manages."""
    return true() if admin.shares is None else shares.c.key.in_(admin.shares)


def managed_recipients(admin: Admin) -> ColumnElement[bool]:
    """Whether a row of `recipients` is one that an administrator manages."""
    if admin.shares is None:
        return true()
    mine = shares.c.key.in_(admin.shares)
    return and_(reads_share(mine), ~reads_share(~mine))


def leaves_of_schemas() -> FromClause:
    """Tables and other assets; tables have the first position."""
    table, asset = shared_tables.c, shared_assets.c
    return union_all(
        select(table.schema_id, table.key, table.name, literal("table").label("kind"), _position(0)),
        select(asset.schema_id, asset.key, asset.name, asset.kind, _position(1)),
    ).subquery("leaves")


def _position(number: int) -> ColumnElement[int]:
    return literal(number).label("position")


def matching(names: Mapping[str, str], text: str) -> tuple[Select[Any], FromClause]:
    """The schemas of shares, each with all of its tables and other assets, as far as they match.

    Returns:
        The statement, whose columns are to be chosen, and the tables and other assets in it.
    """
    leaves = leaves_of_schemas()
    query = (
        select(schemas.c.id)
        .select_from(schemas.outerjoin(leaves, leaves.c.schema_id == schemas.c.id))
        .where(schemas.c.share_id.in_(names))
    )
    if text:
        wanted = name_key(text)
        complete = [each for each, name in names.items() if wanted in name_key(name)]
        query = query.where(or_(schemas.c.share_id.in_(complete), in_schema(leaves, text)))
    return query, leaves


def in_schema(leaves: FromClause, text: str) -> ColumnElement[bool]:
    """Whether the name of a schema, or of one of its tables and other assets, contains a text."""
    return or_(contains(schemas.c.key, text), contains(leaves.c.key, text))


def contains(key: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Whether a casefolded name contains a text, in any case."""
    return key.contains(name_key(text), autoescape=True)
