"""Canonical forms of locations, by which the gateway finds the storage that serves a location."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from sluicegate.api import StorageType

Spelling = Callable[[str], str]


def spellings_of(types: Iterable[StorageType]) -> dict[str, Spelling]:
    """For each scheme that storage types serve, the function that makes its locations canonical."""
    spellings: dict[str, Spelling] = {}
    for known in types:
        spelling = known.canonical or partial(_with_scheme, known.schemes[0])
        for scheme in known.schemes:
            spellings.setdefault(scheme, spelling)
    return spellings


def canonical_location(location: str, spellings: Mapping[str, Spelling]) -> str:
    """The canonical form of a location: `s3a://lake/t` becomes `s3://lake/t`."""
    scheme, separator, _ = location.partition("://")
    spelling = spellings.get(scheme) if separator else None
    return spelling(location) if spelling else location


def as_prefix(location: str) -> str:
    """The location with exactly one trailing slash."""
    return location if location.endswith("/") else f"{location}/"


def bucket_of(location: str) -> str:
    """Scheme and bucket of a location, which messages can contain: `s3://lake`."""
    scheme, separator, rest = location.partition("://")
    return (
        f"{scheme}{separator}{rest.partition('/')[0]}" if separator else "a location without a scheme"
    )


def _with_scheme(scheme: str, location: str) -> str:
    return f"{scheme}://{location.partition('://')[2]}"
