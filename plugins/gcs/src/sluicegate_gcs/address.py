"""Google Cloud Storage locations, and the endpoints under which buckets answer."""

from __future__ import annotations

import re
from typing import Final

from sluicegate.api import canonical_endpoint_url

SCHEMES: Final = ("gs", "gcs")
"""URL schemes of the locations: one store, spelled differently by its clients."""

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def canonical_location(location: str) -> str:
    """The location with the scheme `gs`, whichever of the schemes it has.

    Raises:
        ValueError: It is no location of Google Cloud Storage.
    """
    scheme, separator, rest = location.partition("://")
    if not separator or scheme.lower() not in SCHEMES:
        raise ValueError("must be a location such as gs://bucket/directory/")
    return f"gs://{rest}"


def respelled(location: str) -> str:
    """A location of another of the schemes, spelled as ours; what is none stays as it is."""
    try:
        return canonical_location(location)
    except ValueError:
        return location


def canonical_prefix(prefix: str) -> str:
    """A location prefix with the scheme `gs` and one slash at its end.

    Raises:
        ValueError: It is no location of Google Cloud Storage, or its bucket's name breaks the rules.
    """
    location = canonical_location(prefix).rstrip("/")
    bucket = bucket_of(location)
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{bucket!r} is not the name of a bucket")
    return f"{location}/"


def bucket_of(location: str) -> str:
    """The bucket of a canonical location."""
    return location.removeprefix("gs://").partition("/")[0]


def canonical_endpoint(endpoint: str) -> str:
    """Scheme, host and port as clients send them in `Host`: lower case, without a default port.

    Raises:
        ValueError: It is no `http` or `https` URL, or has more than scheme, host and port.
    """
    return canonical_endpoint_url(endpoint, "https://storage.example.com:4443")
