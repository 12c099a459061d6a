"""Which names in the container the locations of one prefix have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sluicegate.api import PermissionDenied, TableUnreadable
from sluicegate_azure.address import Container, canonical_spelling

_UNLISTABLE = re.compile(r"/\.{0,2}(?=/)|[\x00-\x1f\x7f\ud800-\udfff]")


class Names:
    """Translates locations below a canonical prefix into names of blobs, and lets no other pass."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._start = len(Container.of(prefix).prefix)

    def of(self, locations: Sequence[str]) -> list[str]:
        """The blobs' names.

        Raises:
            PermissionDenied: A location lies outside of the prefix.
        """
        prefix, start = self._prefix, self._start
        return [
            (location if location.startswith(prefix) else self._respelled(location))[start:]
            for location in locations
        ]

    def of_directory(self, location: str) -> str:
        """A directory's name, without slashes at its ends; empty for the whole container.

        Raises:
            PermissionDenied: The location lies outside of the prefix.
            TableUnreadable: The name has a segment or character that no listing can name (`//`, `.`,
                `..`, control characters).
        """
        name = self.of([f"{location.removesuffix('/')}/"])[0].removesuffix("/")
        if _UNLISTABLE.search(f"/{name}/" if name else ""):
            raise TableUnreadable(
                "the name of the table's directory has an empty, '.' or '..' segment or a control "
                "character, so the table cannot be read; its owner should move it to a plain name",
                detail=ascii(location),
            )
        return name

    def _respelled(self, location: str) -> str:
        """A location of another scheme, spelled as ours."""
        canonical = canonical_spelling(location)
        if not canonical.startswith(self._prefix):
            raise PermissionDenied(
                "the table refers to a file outside of its storage, which the gateway does not serve",
                detail=f"{location} is not below {self._prefix}",
            )
        return canonical
