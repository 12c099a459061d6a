"""R2 locations: `r2://bucket@account.r2.cloudflarestorage.com/path`, as Databricks spells them."""

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
    """A bucket of an account.

    Attributes:
        name: Its name.
        account: The account's id, 32 hexadecimal digits.
        host: Where the account's buckets answer, the jurisdiction's name in it.
    """

    name: str
    account: str
    host: str

    @property
    def location(self) -> str:
        """Its location, without a slash at the end."""
        return f"r2://{self.name}@{self.host}"


def spelled_one_way(location: str) -> str:
    """The location with scheme and host in lower case; what is no R2 location stays as it is."""
    found = _LOCATION.fullmatch(location)
    if found is None:
        return location
    return f"r2://{found['bucket']}@{found['host'].lower()}{found['path'] or ''}"


def bucket_of(location: str) -> Bucket:
    """The bucket of a location.

    Raises:
        ValueError: It is no R2 location, or a name in it breaks R2's rules.
    """
    found = _LOCATION.fullmatch(location)
    if found is None:
        raise ValueError(
            "must be an R2 location such as r2://bucket@account.r2.cloudflarestorage.com/directory/"
        )
    bucket = Bucket(found["bucket"], found["account"].lower(), found["host"].lower())
    if not _BUCKET.fullmatch(bucket.name):
        raise ValueError(f"{bucket.name!r} is not the name of an R2 bucket")
    if not _ACCOUNT.fullmatch(bucket.account):
        raise ValueError("must hold the account's id, 32 hexadecimal digits")
    return bucket


def canonical_prefix(prefix: str) -> str:
    """A location prefix in its one spelling, with one slash at its end.

    Raises:
        ValueError: See `bucket_of`.
    """
    bucket_of(prefix)
    return f"{spelled_one_way(prefix).rstrip('/')}/"
