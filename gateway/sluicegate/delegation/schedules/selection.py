"""Selects the tables of a schedule by names and patterns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

_WILDCARD = "*"


class TableName(NamedTuple):
    """A table. Periods separate the levels of the schema; periods in names are percent-encoded."""

    schema: str
    table: str

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of the schema."""
        return tuple(map(unquote, self.schema.split(".")))

    @property
    def name(self) -> str:
        """The name of the table."""
        return unquote(self.table)

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Return the name of a text like `str()` of it."""
        schema, _, table = text.rpartition(".")
        return cls(schema, table)

    def __str__(self) -> str:
        """Return both, as patterns are written."""
        return f"{self.schema}.{self.table}"


def encoded(name: str) -> str:
    """Return a table's name from a listing, as patterns write it."""
    return name.replace("%", "%25").replace(".", "%2E")


@dataclass(frozen=True, slots=True)
class TablePattern:
    """The names or patterns of a schema and of its tables; `*` matches any characters."""

    schema: str
    table: str

    @classmethod
    def parse(cls, text: str) -> TablePattern:
        """Return a pattern; its last period separates the table."""
        schema, _, table = text.rpartition(".")
        return cls(schema, table)

    @property
    def any_schema(self) -> bool:
        """Whether schemas must be listed to find its tables."""
        return _WILDCARD in self.schema

    @property
    def any_table(self) -> bool:
        """Whether tables must be listed."""
        return _WILDCARD in self.table

    def matches_schema(self, schema: str) -> bool:
        """Whether tables of this schema can match."""
        return _matches(self.schema, schema)

    def matches(self, name: TableName) -> bool:
        """Whether it selects a table."""
        return _matches(self.schema, name.schema) and _matches(self.table, name.table)


class TableSelection:
    """Tables that one of some patterns selects, and none of others."""

    def __init__(self, tables: Iterable[str], exclude: Iterable[str] = ()) -> None:
        self._tables = [TablePattern.parse(each) for each in tables]
        self._exclude = [TablePattern.parse(each) for each in exclude]

    @property
    def lists_schemas(self) -> bool:
        """Whether the schemas of the catalog are needed."""
        return any(each.any_schema for each in self._tables)

    @property
    def lists_tables(self) -> bool:
        """Whether the catalog must list anything."""
        return any(each.any_schema or each.any_table for each in self._tables)

    def schemas(self, listed: Collection[str]) -> Sequence[str]:
        """Return all schemas that can have selected tables, sorted."""
        named = {each.schema for each in self._tables if not each.any_schema}
        matching = {
            schema
            for each in self._tables
            if each.any_schema
            for schema in listed
            if each.matches_schema(schema)
        }
        return sorted(named | matching)

    def selects(self, name: TableName) -> bool:
        """Whether a table is selected."""
        return any(each.matches(name) for each in self._tables) and not any(
            each.matches(name) for each in self._exclude
        )

    def lists(self, schema: str) -> bool:
        """Whether the tables of a schema must be listed."""
        return any(
            (each.any_schema or each.any_table) and each.matches_schema(schema) for each in self._tables
        )

    def tables(self, schema: str, listed: Iterable[str]) -> Sequence[TableName]:
        """Return all selected tables of a schema, sorted."""
        exact = {
            TableName(schema, each.table)
            for each in self._tables
            if each.schema == schema and not each.any_table
        }
        names = {TableName(schema, encoded(each)) for each in listed}
        matching = {name for name in names if any(each.matches(name) for each in self._tables)}
        left_out = self._exclude
        return sorted(
            name for name in exact | matching if not any(each.matches(name) for each in left_out)
        )


def _matches(pattern: str, name: str) -> bool:
    first, *others = re.split(r"\*+", pattern)
    if not others:
        return pattern == name
    *middle, last = map(re.escape, others)
    # Atomic groups: the first match of each part is the best one, so there is no backtracking.
    found = "".join(f"(?>.*?{part})" for part in middle)
    return re.fullmatch(f"{re.escape(first)}{found}.*{last}", name, re.DOTALL) is not None
