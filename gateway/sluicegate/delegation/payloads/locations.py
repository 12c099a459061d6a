"""Finds the locations that a payload names (Iceberg specification, "Table Metadata Fields")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

NAMED_BY_PAYLOAD_ALONE: Final = "properties.location"
"""No catalog confirms this location: executors use it instead of the catalog's."""

WRITE_PATHS: Final = frozenset(
    (
        "write.data.path",
        "write.metadata.path",
        "write.object-storage.path",
        "write.folder-storage.path",
    )
)
_PREFIX: Final = "prefix"  # of storage-credentials
_KEYS: Final = WRITE_PATHS | {
    "location",
    "base-location",
    "metadata-location",
    "metadata-file",
    "manifest-list",
    "manifests",
    "statistics-path",
    _PREFIX,
}
_FREE_TEXTS: Final = (
    "properties"  # the table's own properties, where any key might look like a location
)


class PayloadLocation(NamedTuple):
    """A location, and its path in the operation's parameters."""

    place: str
    location: str


def payload_locations(
    metadata_location: str | None, properties: Mapping[str, str], hidden: Mapping[str, Any]
) -> list[PayloadLocation]:
    """Return all locations of a payload."""
    found = [] if metadata_location is None else [("metadata_location", metadata_location)]
    found += [(f"properties.{key}", properties[key]) for key in properties if key in _KEYS - {_PREFIX}]
    places: list[tuple[str, str, Any]] = [
        (key, key, value) for key, value in hidden.items() if key != "config"
    ]
    while places:
        place, key, value = places.pop()
        if isinstance(value, str) and key in _KEYS:
            found.append((place, value))
        places += _members(place, key, value)
    return [PayloadLocation(*each) for each in found]


def _members(place: str, key: str, value: Any) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, Mapping):
        wanted = WRITE_PATHS if key == _FREE_TEXTS else None
        for name, each in value.items():
            if wanted is None or name in wanted:
                yield f"{place}.{name}", name, each
    elif isinstance(value, list):
        yield from ((f"{place}.{number}", key, each) for number, each in enumerate(value))
