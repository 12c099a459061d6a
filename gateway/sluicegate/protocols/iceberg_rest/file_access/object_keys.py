"""The keys that clients request: `<proof>/<quoted path>` in the bucket `sluicegate`.

Clients disagree about characters in keys. Iceberg's Java library ends a key at `?` or `#` and rejects a
second `://`; HTTP libraries remove `.` and `..` segments, and some merge slashes. A quoted path
therefore consists of characters that all clients send unchanged. They percent-encode `%` and `=` again
in a request, so a request is decoded twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

BUCKET: Final = "sluicegate"
"""The bucket in clients' paths. It does not exist in any store."""

_UNQUOTED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/="
_UNSAFE = re.compile(b"[^" + re.escape(_UNQUOTED) + b"]")
_UNSAFE_OR_SLASH = re.compile(b"[^" + re.escape(_UNQUOTED.replace(b"/", b"")) + b"]")


def quote_path(path: bytes) -> str:
    """Quote a path. Nearly all paths need no change, which `translate` detects quickly."""
    if b"/." in path or b"//" in path or path[:1] in b"./":
        return _UNSAFE_OR_SLASH.sub(_percent, path).decode()
    if path.translate(None, _UNQUOTED):
        return _UNSAFE.sub(_percent, path).decode()
    return path.decode()


def quote_paths(paths: Sequence[bytes]) -> list[str]:
    """Quote paths. If all of them need no change, this is detected once for all."""
    text = b"\n/".join((b"", *paths))
    safe = text.count(b"\n") == len(paths) and not text.translate(None, _UNQUOTED + b"\n")
    if not safe or b"/." in text or b"//" in text:
        return [quote_path(path) for path in paths]
    return text.decode().split("\n/")[1:]


def unquote_path(quoted: str) -> bytes | None:
    """The path that `quote_path` quoted. `None` for any other text."""
    if not quoted.isascii():
        return None
    path = unquote_to_bytes(quoted)
    return path if path and quote_path(path) == quoted else None


def _percent(found: re.Match[bytes]) -> bytes:
    return b"%%%02X" % ord(found[0])
