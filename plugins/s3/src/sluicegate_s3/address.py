"""S3 locations, and the URLs under which a bucket answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sluicegate.api import canonical_endpoint_url

SCHEMES: Final = ("s3", "s3a", "s3n")
"""URL schemes of S3 locations: one store, spelled differently by Hadoop's connectors."""

_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]")
_HOST_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """How the URLs of a bucket begin.

    Attributes:
        origin: `https://lake.s3.eu-west-1.amazonaws.com`, or `http://127.0.0.1:9000`.
        path: What comes before the key: `/` (virtual-host style) or `/lake/` (path style).
    """

    origin: str
    path: str

    @classmethod
    def of(cls, bucket: str, endpoint: str, *, path_style: bool) -> BucketAddress:
        """The address of a bucket at an endpoint (`https://s3.eu-west-1.amazonaws.com`)."""
        if path_style:
            return cls(endpoint, f"/{bucket}/")
        scheme, _, host = endpoint.partition("://")
        return cls(f"{scheme}://{bucket}.{host}", "/")

    @property
    def host(self) -> str:
        """The `Host` header that clients send."""
        return self.origin.partition("://")[2]


def canonical_location(location: str) -> str:
    """The location with the scheme `s3`, whichever of the schemes it has.

    Raises:
        ValueError: It is no S3 location.
    """
    scheme, separator, rest = location.partition("://")
    if not separator or scheme.lower() not in SCHEMES:
        raise ValueError("must be an S3 location such as s3://bucket/directory/")
    return f"s3://{rest}"


def respelled(location: str) -> str:
    """A location of another of the schemes, spelled as ours; what is none stays as it is."""
    try:
        return canonical_location(location)
    except ValueError:
        return location


def canonical_prefix(prefix: str) -> str:
    """A location prefix with the scheme `s3` and one slash at its end.

    Raises:
        ValueError: It is no S3 location, or its bucket's name breaks the rules of S3.
    """
    location = canonical_location(prefix).rstrip("/")
    bucket = bucket_of(location)
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{bucket!r} is not the name of an S3 bucket")
    return f"{location}/"


def bucket_of(location: str) -> str:
    """The bucket of a canonical location."""
    return location.removeprefix("s3://").partition("/")[0]


def canonical_endpoint(endpoint: str) -> str:
    """Scheme, host and port as clients send them in `Host`: lower case, without a default port.

    Raises:
        ValueError: It is no `http` or `https` URL, or has more than scheme, host and port.
    """
    return canonical_endpoint_url(endpoint, "https://store.example.com:9000")


def aws_endpoint(region: str) -> str:
    """The regional S3 endpoint of AWS (of its partition for China, where the region lies there)."""
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://s3.{region}.{suffix}"


def fits_virtual_host(bucket: str, endpoint: str) -> bool:
    """Whether the bucket can be a label of the endpoint's host name.

    Over TLS a dot in it would not match the store's wildcard certificate.
    """
    labels = [bucket] if endpoint.startswith("https://") else bucket.split(".")
    return all(_HOST_LABEL.fullmatch(label) for label in labels)
