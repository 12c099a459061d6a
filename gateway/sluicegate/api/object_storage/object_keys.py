"""Translates locations of a storage into keys of its bucket, and percent-encodes keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote

from sluicegate.api.errors import PermissionDenied, TableUnreadable

_UNLISTABLE: Final = re.compile(r"/\.{0,2}(?=/)|[\x00-\x1f\x7f\ud800-\udfff]")
_UNRESERVED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
_SEPARATOR: Final = "\0"


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

    @property
    def prefix(self) -> str:
        """The storage's canonical prefix, with a slash at its end."""
        return self._prefix

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


def quote_keys(keys: Sequence[str]) -> list[str]:
    """Percent-encode keys as stores do: everything but unreserved characters (RFC 3986) and slashes.

    The keys are encoded as one text, in one pass for each reserved byte that occurs in it. Most tables
    need one or two passes, regardless of their number of files.

    Raises:
        TableUnreadable: A key contains half of a surrogate pair, so it cannot be encoded in UTF-8.
    """
    text = _encoded(_SEPARATOR.join(keys))
    reserved = set(text.translate(None, _UNRESERVED + _SEPARATOR.encode()))
    for byte in sorted(reserved, key=lambda byte: byte != ord("%")):
        text = text.replace(bytes([byte]), b"%%%02X" % byte)
    quoted = text.decode("ascii").split(_SEPARATOR)
    if len(quoted) != len(keys):
        return [quote(key, safe="/~") for key in keys]
    return quoted


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TableUnreadable(
            "the table names a file by text that is no valid Unicode; no store can hold such a file",
            detail=ascii(text[max(0, error.start - 40) : error.end]),
        ) from error
