"""Translates the catalog's locations to the gateway's normalized form."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

_URI: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|)", re.DOTALL
)
# Schemes of one store, as used by Hadoop's connectors.
_SAME: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}


def location_of(uri: str) -> str:
    """Return the literal location of a URI, without a trailing slash.

    `file:/srv/a%20b/` is `file:///srv/a b`.
    """
    match = _URI.fullmatch(f"file://{uri}" if uri.startswith("/") else uri)
    if match is None:
        raise ValueError("it is not a URI")
    scheme, authority = match["scheme"].lower(), match["authority"] or ""
    path = unquote(match["path"], errors="strict").rstrip("/")
    if {".", ".."} & set(path.split("/")) or "\0" in path:
        raise ValueError("its path contains '.', '..' or a null character")
    if bool(authority) == (scheme == "file") or (scheme == "file" and not path):
        raise ValueError("it does not name a directory")
    return f"{_SAME.get(scheme, scheme)}://{authority}{path}"


def bucket_of(location: str) -> str:
    """Return scheme and bucket of a location. The catalog configures credentials per bucket."""
    scheme, _, rest = location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def account_of(location: str) -> str | None:
    """Return the storage account in an Azure location; `None` for other clouds."""
    scheme, _, rest = location.partition("://")
    host = rest.partition("/")[0].partition("@")[2]
    return host.partition(".")[0] or None if scheme == "abfss" else None


def same_directory(one: str, other: str) -> bool:
    """Return whether two locations are one directory, regardless of notation."""
    return _comparable(one) == _comparable(other)


def _comparable(location: str) -> tuple[str, str, str]:
    scheme, _, rest = location.partition("://")
    authority, _, path = rest.partition("/")
    scheme = scheme.lower()
    return _SAME.get(scheme, scheme), authority.lower(), path.rstrip("/")
