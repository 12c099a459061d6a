"""Reads the catalog's own settings from `/v1/config`, and derives URLs from them.

Source: Iceberg REST specification, `getConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import quote, unquote

from sluicegate_iceberg.names import Levels, TableName, segment
from sluicegate_iceberg.rest.responses import ConfigResponse

_SEPARATOR = "%1F"
# Prefixes are percent-encoded. Characters that are not allowed in a URL are encoded.
_URL_SAFE = "/%+~!$&'()*,;=:@"
_VIEW = "v1/{prefix}/namespaces/{namespace}/views/{view}"
# For servers that do not list their endpoints.
_HAS_VIEWS = "view-endpoints-supported"
_CREDENTIALS = "v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
_GENERIC_TABLES = "polaris/v1/{prefix}/namespaces/{namespace}/generic-tables"


@dataclass(frozen=True, slots=True)
class Settings:
    """A catalog's own settings.

    Attributes:
        prefix: First part of all paths; empty if there is none.
        separator: Separator of namespace levels, percent-encoded.
    """

    uri: str
    prefix: str
    separator: str
    properties: Mapping[str, str] = field(repr=False)
    generic_tables: bool
    views: bool
    vends: bool

    @classmethod
    def of(cls, uri: str, response: ConfigResponse) -> Self:
        """Return the settings in a response of the catalog at `uri`."""
        properties = {**response.defaults, **response.overrides}
        routes = {route.replace(" /", " ") for route in response.endpoints}
        return cls(
            uri=_moved(uri, response.overrides.get("uri")),
            prefix=quote(properties.get("prefix", "").strip("/"), safe=_URL_SAFE),
            separator=quote(unquote(properties.get("namespace-separator", _SEPARATOR)), safe=""),
            properties=properties,
            generic_tables=f"GET {_GENERIC_TABLES}" in routes,
            views=f"GET {_VIEW}" in routes
            or (not routes and properties.get(_HAS_VIEWS, "").lower() == "true"),
            vends=not routes or f"GET {_CREDENTIALS}" in routes,
        )

    def namespaces(self) -> str:
        """Return the URL of the namespaces."""
        return "/".join(filter(None, (self.uri, "v1", self.prefix, "namespaces")))

    def parent(self, namespace: Levels) -> str:
        """Return the parameter that lists children of a namespace."""
        return f"parent={segment(namespace, self.separator)}"

    def tables(self, namespace: Levels) -> str:
        """Return the URL of the tables of a namespace."""
        return f"{self.namespaces()}/{segment(namespace, self.separator)}/tables"

    def table(self, table: TableName) -> str:
        """Return the URL of a table."""
        return f"{self.tables(table.namespace)}/{segment((table.name,), '')}"

    def view(self, name: TableName) -> str:
        """Return the URL of a view."""
        namespace = segment(name.namespace, self.separator)
        return f"{self.namespaces()}/{namespace}/views/{segment((name.name,), '')}"

    def credentials(self, table: TableName, advertised: str | None) -> str:
        """Return the URL of a table's credentials.

        Args:
            advertised: The URL that the catalog named: relative to its URL, with or without a leading
                slash, or absolute. A URL with another host is not used, because that host would
                receive the token.
        """
        if advertised is not None and "://" not in advertised:
            return f"{self.uri}/{advertised.lstrip('/')}"
        if advertised is not None and origin(advertised) == origin(self.uri):
            return advertised
        return f"{self.table(table)}/credentials"

    def generic(self, namespace: Levels) -> str:
        """Return the URL of the generic tables of a namespace."""
        parts = (self.uri, "polaris/v1", self.prefix, "namespaces", segment(namespace, self.separator))
        return "/".join((*filter(None, parts), "generic-tables"))

    def generic_table(self, table: TableName) -> str:
        """Return the URL of a generic table."""
        return f"{self.generic(table.namespace)}/{segment((table.name,), '')}"


def _moved(uri: str, override: str | None) -> str:
    """Return the URL that the catalog redirects to, unless it drops the configured encryption."""
    if override is None or not override.startswith(("https://", "http://")):
        return uri
    if uri.startswith("https://") and not override.startswith("https://"):
        return uri
    return override.rstrip("/")


def origin(url: str) -> str:
    """Return scheme, host and port of a URL, in lower case."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}".lower()
