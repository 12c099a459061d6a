"""Percent-encodes object keys in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from sluicegate.api.errors import TableUnreadable

_UNRESERVED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
_SEPARATOR: Final = "\0"


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
