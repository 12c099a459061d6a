"""Parses Google Cloud Storage locations and endpoints."""

from __future__ import annotations

import re
from typing import Final

from sluicegate.api import canonical_endpoint_url

SCHEMES: Final = ("gs", "gcs")
"""URL schemes of the locations. Clients use different schemes for the same store."""

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def canonical_location(location: str) -> str:
    """Return a location with the scheme `gs` instead of an equivalent one."""
    scheme, separator, rest = location.partition("://")
    if not separator or scheme.lower() not in SCHEMES:
        raise ValueError("must be a location such as gs://bucket/directory/")
    return f"gs://{rest}"


def with_canonical_scheme(location: str) -> str:
    """Return a location with the scheme `gs`. Locations of other stores are returned unchanged."""
    try:
        return canonical_location(location)
    except ValueError:
        return location


def canonical_prefix(prefix: str) -> str:
    """Return a location prefix with the scheme `gs` and one trailing slash."""
    location = canonical_location(prefix).rstrip("/")
    bucket = bucket_of(location)
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{bucket!r} is not the name of a bucket")
    return f"{location}/"


def bucket_of(location: str) -> str:
    """Return the bucket of a canonical location."""
    return location.removeprefix("gs://").partition("/")[0]


def canonical_endpoint(endpoint: str) -> str:
    """Return scheme, host and port in the form of the `Host` header.

    The result is in lower case, without a default port.
    """
    return canonical_endpoint_url(endpoint, "https://storage.example.com:4443")
