"""Schemes and prefixes of locations: who serves what is decided on one spelling of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sluicegate.api import StorageType


def canonical_schemes(types: Iterable[StorageType]) -> dict[str, str]:
    """Each scheme that storage types serve, and the first scheme of its type, which it stands for."""
    schemes: dict[str, str] = {}
    for known in types:
        for scheme in known.schemes:
            schemes.setdefault(scheme, known.schemes[0])
    return schemes


def with_canonical_scheme(location: str, schemes: Mapping[str, str]) -> str:
    """The location with the scheme that its own stands for: `s3a://lake/t` becomes `s3://lake/t`."""
    scheme, separator, rest = location.partition("://")
    return f"{schemes.get(scheme, scheme)}{separator}{rest}"


def as_prefix(location: str) -> str:
    """The location with one slash at its end."""
    return location if location.endswith("/") else f"{location}/"


def bucket_of(location: str) -> str:
    """Scheme and bucket of a location, which a message may show: `s3://lake`."""
    scheme, separator, rest = location.partition("://")
    return (
        f"{scheme}{separator}{rest.partition('/')[0]}" if separator else "a location without a scheme"
    )
