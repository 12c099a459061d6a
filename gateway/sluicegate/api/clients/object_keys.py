"""Translates locations of a storage into keys of its bucket."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from sluicegate.api.errors import PermissionDenied, TableUnreadable

_UNLISTABLE: Final = re.compile(r"/\.{0,2}(?=/)|[\x00-\x1f\x7f\ud800-\udfff]")


class ObjectKeys:
    """Translates locations below a prefix into keys of its bucket, and rejects all others.

    Args:
        prefix: The storage's canonical prefix, with a slash at its end.
        bucket: The part of the prefix before the keys: `s3://lake/`.
        respell: Returns the canonical form of a location that does not begin with the prefix, or the
            unchanged location if it cannot be parsed.
    """

    def __init__(self, prefix: str, bucket: str, respell: Callable[[str], str]) -> None:
        self._prefix = prefix
        self._start = len(bucket)
        self._respell = respell

    def of(self, locations: Sequence[str]) -> list[str]:
        """Return the keys of locations, in the same order.

        Raises:
            PermissionDenied: A location is outside the prefix.
        """
        prefix, start = self._prefix, self._start
        return [
            (location if location.startswith(prefix) else self._respelled(location))[start:]
            for location in locations
        ]

    def of_directory(self, location: str) -> str:
        """Return a directory's key without leading and trailing slashes; empty for the entire bucket.

        Raises:
            PermissionDenied: The location is outside the prefix.
            TableUnreadable: The key has a segment or character that listings do not support (`//`, `.`,
                `..`, control characters).
        """
        key = self.of([f"{location.removesuffix('/')}/"])[0].removesuffix("/")
        if _UNLISTABLE.search(f"/{key}/" if key else ""):
            raise TableUnreadable(
                "the name of the table's directory has an empty, '.' or '..' segment or a control "
                "character, so the table cannot be read; its owner should move it to a plain name",
                detail=ascii(location),
            )
        return key

    def has_directory(self, location: str) -> bool:
        """Whether the location is a directory below the prefix that can be listed."""
        try:
            self.of_directory(location)
        except (PermissionDenied, TableUnreadable):
            return False
        return True

    def _respelled(self, location: str) -> str:
        canonical = self._respell(location)
        if not canonical.startswith(self._prefix):
            raise PermissionDenied(
                "the table refers to a file outside of its storage, which the gateway does not serve",
                detail=f"{location} is not below {self._prefix}",
            )
        return canonical
