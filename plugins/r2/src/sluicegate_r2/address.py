"""Parses R2 locations: `r2://bucket@account.r2.cloudflarestorage.com/path`, as in Databricks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

SCHEME: Final = "r2"
"""URL scheme of R2 locations."""

_LOCATION: Final = re.compile(
    r"r2://(?P<bucket>[^@/]*)@(?P<host>(?P<account>[^./]+)\.((?P<jurisdiction>eu|fedramp)\.)?"
    r"r2\.cloudflarestorage\.com)(?P<path>/.*)?",
    re.IGNORECASE | re.DOTALL,
)
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_ACCOUNT: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of an account."""

    name: str
    account: str
    host: str

    @property
    def location(self) -> str:
        """Return its location, without a trailing slash."""
        return f"r2://{self.name}@{self.host}"


def canonical_location(location: str) -> str:
    """Return a location with scheme and host in lower case. Other locations are returned unchanged."""
    found = _LOCATION.fullmatch(location)
    if found is None:
        return location
    return f"r2://{found['bucket']}@{found['host'].lower()}{found['path'] or ''}"


def bucket_of(location: str) -> Bucket:
    """Return the bucket of a location."""
    found = _LOCATION.fullmatch(location)
    if found is None:
        raise ValueError(
            "must be an R2 location such as r2://bucket@account.r2.cloudflarestorage.com/directory/"
        )
    bucket = Bucket(found["bucket"], found["account"].lower(), found["host"].lower())
    if not _BUCKET.fullmatch(bucket.name):
        raise ValueError(f"{bucket.name!r} is not the name of an R2 bucket")
    if not _ACCOUNT.fullmatch(bucket.account):
        raise ValueError("must contain the account's id, 32 hexadecimal digits")
    return bucket


def canonical_prefix(prefix: str) -> str:
    """Return a location prefix in normalized form, with one trailing slash."""
    bucket_of(prefix)
    return f"{canonical_location(prefix).rstrip('/')}/"
