"""Locations as the catalog writes them, and the gateway's one spelling of them."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

_URI: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|)", re.DOTALL
)
# Spellings of one store, as Hadoop's connectors name them.
_SAME: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}


def location_of(uri: str) -> str:
    """The literal location of a URI, without a trailing slash.

    `file:/srv/a%20b/` is `file:///srv/a b`.

    Raises:
        ValueError: It is no URI of a directory.
    """
    match = _URI.fullmatch(f"file://{uri}" if uri.startswith("/") else uri)
    if match is None:
        raise ValueError("it is no URI")
    scheme, authority = match["scheme"].lower(), match["authority"] or ""
    path = unquote(match["path"], errors="strict").rstrip("/")
    if {".", ".."} & set(path.split("/")) or "\0" in path:
        raise ValueError("it has a part that leads elsewhere")
    if bool(authority) == (scheme == "file") or (scheme == "file" and not path):
        raise ValueError("it names no directory")
    return f"{_SAME.get(scheme, scheme)}://{authority}{path}"


def bucket_of(location: str) -> str:
    """Scheme and bucket of a location: what the catalog configures credentials for."""
    scheme, _, rest = location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def account_of(location: str) -> str | None:
    """The storage account in a location of Azure; `None` for those of other clouds."""
    scheme, _, rest = location.partition("://")
    host = rest.partition("/")[0].partition("@")[2]
    return host.partition(".")[0] or None if scheme == "abfss" else None


def same_directory(one: str, other: str) -> bool:
    """Whether two locations are one directory, however scheme and host are spelled."""
    return _comparable(one) == _comparable(other)


def _comparable(location: str) -> tuple[str, str, str]:
    scheme, _, rest = location.partition("://")
    authority, _, path = rest.partition("/")
    scheme = scheme.lower()
    return _SAME.get(scheme, scheme), authority.lower(), path.rstrip("/")
