"""Normalizes locations, so that a table has one id regardless of how its location is written."""

from __future__ import annotations

import re

_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/]*)(?P<path>/.*|)", re.DOTALL)


def normalised(text: str) -> str:
    """Return a location without a trailing slash: `file:///srv/t` for `/srv//t/`.

    Locations are literal: nothing is percent-decoded, and `?` and `#` are part of the name.
    """
    match = _URL.fullmatch(f"file://{text}" if text.startswith("/") else text)
    if match is None:
        raise ValueError("must be a location (s3://bucket/table) or an absolute path (/srv/table)")
    scheme, authority, path = match.group("scheme", "authority", "path")
    if scheme == "file":
        # Repeated slashes are redundant only in local paths; elsewhere they are part of the key.
        path = re.sub("/+", "/", path)
    path = path.rstrip("/")
    if {".", ".."} & set(path.split("/")):
        raise ValueError("a location cannot contain the segments '.' and '..': remove them")
    if bool(authority) == (scheme == "file") or (scheme == "file" and not path):
        raise ValueError(
            "a location must contain a bucket (s3://bucket/table) or a path (file:///srv/table)"
        )
    return f"{scheme}://{authority}{path}"
