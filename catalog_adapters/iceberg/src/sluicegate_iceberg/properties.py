"""Classifies Iceberg's property names: connection settings of storage, and secrets.

Source: Iceberg documentation, "FileIO" properties of AWS, Azure and Google. Others were observed in
catalogs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Of several names for one setting, the first that is set is used.
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
    """Return the properties to keep, which contain no secrets."""
    return {name: value for name, value in properties.items() if name in _PUBLIC}


def connection(properties: Mapping[str, str]) -> dict[str, str]:
    """Return connection settings of an S3 store, as in `TemporaryCredentials.connection`."""
    found = {
        ours: next((properties[name] for name in names if properties.get(name)), None)
        for ours, names in _CONNECTION.items()
    }
    known = {ours: value for ours, value in found.items() if value is not None}
    if "path_style" in known:
        known["path_style"] = known["path_style"].lower()
    return known


def refresh_endpoint(properties: Mapping[str, str]) -> str | None:
    """Return the catalog's URL for renewal of a table's credentials."""
    return next((properties[name] for name in _REFRESH if properties.get(name)), None)
