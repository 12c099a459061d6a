"""What a catalog says of itself at `/v1/config`, and the addresses that follow from it.

Source: Iceberg's REST catalog specification, `getConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import quote, unquote

from sluicegate_iceberg.answers import ConfigAnswer
from sluicegate_iceberg.names import Levels, TableName, segment

_SEPARATOR = "%1F"
# Prefixes come percent-encoded; what could not stand in a URL is mended.
_URL_SAFE = "/%+~!$&'()*,;=:@"
_GENERIC_TABLES = "polaris/v1/{prefix}/namespaces/{namespace}/generic-tables"


@dataclass(frozen=True, slots=True)
class Settings:
    """A catalog's own settings.

    Attributes:
        uri: The catalog's URL, without `/v1`.
        prefix: First part of all paths; empty where there is none.
        separator: Between the levels of a namespace, percent-encoded.
        properties: Of storage, as far as they hold for all tables.
        generic_tables: It has Polaris' generic tables.
    """

    uri: str
    prefix: str
    separator: str
    properties: Mapping[str, str] = field(repr=False)
    generic_tables: bool

    @classmethod
    def of(cls, uri: str, answer: ConfigAnswer) -> Self:
        """The settings that an answer of the catalog at `uri` means."""
        properties = {**answer.defaults, **answer.overrides}
        routes = {route.replace(" /", " ") for route in answer.endpoints}
        return cls(
            uri=_moved(uri, answer.overrides.get("uri")),
            prefix=quote(properties.get("prefix", "").strip("/"), safe=_URL_SAFE),
            separator=quote(unquote(properties.get("namespace-separator", _SEPARATOR)), safe=""),
            properties=properties,
            generic_tables=f"GET {_GENERIC_TABLES}" in routes,
        )

    def namespaces(self) -> str:
        """URL of the namespaces."""
        return "/".join(filter(None, (self.uri, "v1", self.prefix, "namespaces")))

    def parent(self, namespace: Levels) -> str:
        """The parameter that lists what is in a namespace."""
        return f"parent={segment(namespace, self.separator)}"

    def tables(self, namespace: Levels) -> str:
        """URL of the tables of a namespace."""
        return f"{self.namespaces()}/{segment(namespace, self.separator)}/tables"

    def table(self, table: TableName) -> str:
        """URL of a table."""
        return f"{self.tables(table.namespace)}/{segment((table.name,), '')}"

    def credentials(self, table: TableName, advertised: str | None) -> str:
        """URL of a table's credentials.

        Args:
            table: The table.
            advertised: The address that the catalog named: relative to its URL, with or without a
                leading slash, or absolute. One of another host is not asked: it would get the token.
        """
        if advertised is not None and "://" not in advertised:
            return f"{self.uri}/{advertised.lstrip('/')}"
        if advertised is not None and _origin(advertised) == _origin(self.uri):
            return advertised
        return f"{self.table(table)}/credentials"

    def generic(self, namespace: Levels) -> str:
        """URL of the generic tables of a namespace."""
        parts = (self.uri, "polaris/v1", self.prefix, "namespaces", segment(namespace, self.separator))
        return "/".join((*filter(None, parts), "generic-tables"))

    def generic_table(self, table: TableName) -> str:
        """URL of a generic table."""
        return f"{self.generic(table.namespace)}/{segment((table.name,), '')}"


def _moved(uri: str, override: str | None) -> str:
    """Where the catalog wants to be asked; never without the encryption that was configured."""
    if override is None or not override.startswith(("https://", "http://")):
        return uri
    if uri.startswith("https://") and not override.startswith("https://"):
        return uri
    return override.rstrip("/")


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}".lower()
