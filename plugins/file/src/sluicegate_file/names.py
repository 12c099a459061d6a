"""The names of files that local storage can address."""

from __future__ import annotations

import re

from obstore.exceptions import InvalidPathError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Writers that use object_store give these names to unfinished uploads.
_UPLOAD = re.compile(r"#[0-9]+$")


def is_unfinished_upload(path: str) -> bool:
    """Return whether a file has the name of an unfinished upload."""
    return "#" in path and _UPLOAD.search(path) is not None


def has_control_characters(path: str) -> bool:
    """Return whether a path contains control characters."""
    return _CONTROL.search(path) is not None


def is_listed(name: str) -> bool:
    """Return whether listings contain a name of the file system, which needn't be valid UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return not has_control_characters(name)


def checked_key(path: str) -> str:
    """Return a key without slashes at its ends."""
    key = path.strip("/")
    if "\0" in key or (key and not {"", ".", ".."}.isdisjoint(key.split("/"))):
        raise InvalidPathError(f"not the key of a local file: {path!r}")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise InvalidPathError(f"not the key of a local file: {path!r}") from None
    return key
