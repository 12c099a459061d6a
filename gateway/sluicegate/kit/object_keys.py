"""Which keys of a bucket the locations of a storage have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from sluicegate.errors import PermissionDenied, TableUnreadable

_UNLISTABLE: Final = re.compile(r"/\.{0,2}(?=/)|[\x00-\x1f\x7f\ud800-\udfff]")


class ObjectKeys:
    """Translates locations below a prefix into keys of its bucket, and lets no other pass.

    Args:
        prefix: The storage's canonical prefix, with a slash at its end.
        bucket: What of the prefix is no part of a key: `s3://lake/`.
        respell: The canonical spelling of a location that does not begin with the prefix; what it
            cannot read it returns as it is.
    """

    def __init__(self, prefix: str, bucket: str, respell: Callable[[str], str]) -> None:
        self._prefix = prefix
        self._start = len(bucket)
        self._respell = respell

    def of(self, locations: Sequence[str]) -> list[str]:
        """The keys, in the same order.

        Raises:
            PermissionDenied: A location lies outside of the prefix.
        """
        prefix, start = self._prefix, self._start
        return [
            (location if location.startswith(prefix) else self._respelled(location))[start:]
            for location in locations
        ]

    def of_directory(self, location: str) -> str:
        """A directory's key, without slashes at its ends; empty for the whole bucket.

        Raises:
            PermissionDenied: The location lies outside of the prefix.
            TableUnreadable: The key has a segment or character that no listing can name (`//`, `.`,
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
        """Whether the location is a directory below the prefix that a listing can name."""
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
