"""Parses S3 locations and builds the URLs of buckets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sluicegate.api import canonical_endpoint_url

SCHEMES: Final = ("s3", "s3a", "s3n")
"""URL schemes of S3 locations. Hadoop's connectors use different schemes for the same store."""

_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]")
_HOST_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """Start of the URLs of a bucket."""

    origin: str
    path: str

    @classmethod
    def of(cls, bucket: str, endpoint: str, *, path_style: bool) -> BucketAddress:
        """Return the address of a bucket at an endpoint (`https://s3.eu-west-1.amazonaws.com`)."""
        if path_style:
            return cls(endpoint, f"/{bucket}/")
        scheme, _, host = endpoint.partition("://")
        return cls(f"{scheme}://{bucket}.{host}", "/")

    @property
    def host(self) -> str:
        """Return the `Host` header that clients send."""
        return self.origin.partition("://")[2]


def canonical_location(location: str) -> str:
    """Return a location with the scheme `s3` instead of an equivalent one."""
    scheme, separator, rest = location.partition("://")
    if not separator or scheme.lower() not in SCHEMES:
        raise ValueError("must be an S3 location such as s3://bucket/directory/")
    return f"s3://{rest}"


def with_canonical_scheme(location: str) -> str:
    """Return a location with the scheme `s3`. Locations of other stores are returned unchanged."""
    try:
        return canonical_location(location)
    except ValueError:
        return location


def canonical_prefix(prefix: str) -> str:
    """Return a location prefix with the scheme `s3` and one trailing slash."""
    location = canonical_location(prefix).rstrip("/")
    bucket = bucket_of(location)
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{bucket!r} is not the name of an S3 bucket")
    return f"{location}/"


def bucket_of(location: str) -> str:
    """Return the bucket of a canonical location."""
    return location.removeprefix("s3://").partition("/")[0]


def canonical_endpoint(endpoint: str) -> str:
    """Return scheme, host and port in the form of the `Host` header.

    The result is in lower case, without a default port.
    """
    return canonical_endpoint_url(endpoint, "https://store.example.com:9000")


def aws_endpoint(region: str) -> str:
    """Return the regional S3 endpoint of AWS; for regions in China, that of their partition."""
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://s3.{region}.{suffix}"


def fits_virtual_host(bucket: str, endpoint: str) -> bool:
    """Return whether the bucket can be a label of the endpoint's host name.

    With TLS, a name that contains a dot doesn't match the store's wildcard certificate.
    """
    labels = [bucket] if endpoint.startswith("https://") else bucket.split(".")
    return all(_HOST_LABEL.fullmatch(label) for label in labels)
