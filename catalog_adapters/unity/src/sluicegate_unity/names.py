"""Parses names of catalogs, schemas and tables, and identifiers made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from sluicegate.api import NotFound

NAME: Final = r"[^\s./\x00-\x1f\x7f]{1,255}"
"""Characters of a name. Names can't contain periods, which separate them."""

_NAME: Final = re.compile(NAME)


@dataclass(frozen=True, slots=True)
class SchemaName:
    """A schema. Names are case-sensitive in Unity Catalog."""

    catalog: str
    schema: str


@dataclass(frozen=True, slots=True)
class TableName:
    """A table."""

    catalog: str
    schema: str
    table: str

    def __str__(self) -> str:
        """Return `catalog.schema.table`."""
        return f"{self.catalog}.{self.schema}.{self.table}"

    @property
    def path(self) -> str:
        """Return its route in the catalog's own API."""
        return f"/tables/{quote(str(self), safe='')}"

    @property
    def delta_path(self) -> str:
        """Return its route in the Delta API."""
        catalog, schema, table = (
            quote(name, safe="") for name in (self.catalog, self.schema, self.table)
        )
        return f"/delta/v1/catalogs/{catalog}/schemas/{schema}/tables/{table}"


@dataclass(frozen=True, slots=True)
class UnityAssetName:
    """A volume or model."""

    catalog: str
    schema: str
    asset: str

    def __str__(self) -> str:
        """Return `catalog.schema.asset`."""
        return f"{self.catalog}.{self.schema}.{self.asset}"

    @property
    def quoted(self) -> str:
        """Return the name for use in a path."""
        return quote(str(self), safe="")


class Names:
    """Parses names that users of the gateway write."""

    def __init__(self, catalog: str | None) -> None:
        self._catalog = catalog

    def schema(self, text: str) -> SchemaName:
        """Parse `schema` or `catalog.schema`."""
        return SchemaName(*self._parts(text, 2, "schema"))

    def table(self, text: str) -> TableName:
        """Parse `schema.table` or `catalog.schema.table`."""
        return TableName(*self._parts(text, 3, "table"))

    def asset(self, text: str, kind: str) -> UnityAssetName:
        """Parse `schema.asset` or `catalog.schema.asset`."""
        return UnityAssetName(*self._parts(text, 3, kind))

    def listed(self, catalog: str, schema: str) -> str:
        """Return the name of a schema in listings."""
        return f"{catalog}.{schema}" if self._catalog is None else schema

    def _parts(self, text: str, count: int, what: str) -> list[str]:
        parts = text.split(".")
        if self._catalog is not None and len(parts) == count - 1:
            parts.insert(0, self._catalog)
        if len(parts) != count or not all(map(is_name, parts)) or self._catalog not in (None, parts[0]):
            shape = ".".join(("catalog", "schema", what)[:count])
            raise NotFound(f"there is no such {what}: write {shape}", detail=text[:1000])
        return parts


def is_name(text: object) -> bool:
    """Return whether a value is the name of a catalog, schema or table."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None
