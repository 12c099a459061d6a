"""Iceberg's property names: which tell how storage is reached, and which are secrets.

Source: Iceberg's documentation, "FileIO" properties of AWS, Azure and Google; observed catalogs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Of several names for one thing, the first that is set.
_CONNECTION: Final = {
    "region": ("client.region", "s3.region"),
    "endpoint": ("s3.endpoint",),
    "path_style": ("s3.path-style-access",),
}
_REFRESH: Final = (
    "client.refresh-credentials-endpoint",
    "adls.refresh-credentials-endpoint",
    "gcs.oauth2.refresh-credentials-endpoint",
)
_PUBLIC: Final = frozenset((*_REFRESH, *(name for names in _CONNECTION.values() for name in names)))


def public(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that are kept: none of them is a secret."""
    return {name: value for name, value in properties.items() if name in _PUBLIC}


def connection(properties: Mapping[str, str]) -> dict[str, str]:
    """How an S3 store is reached, as `TemporaryCredentials.connection` spells it."""
    found = {
        ours: next((properties[name] for name in names if properties.get(name)), None)
        for ours, names in _CONNECTION.items()
    }
    known = {ours: value for ours, value in found.items() if value is not None}
    if "path_style" in known:
        known["path_style"] = known["path_style"].lower()
    return known


def refresh_endpoint(properties: Mapping[str, str]) -> str | None:
    """Where the catalog says that a table's credentials are renewed."""
    return next((properties[name] for name in _REFRESH if properties.get(name)), None)
