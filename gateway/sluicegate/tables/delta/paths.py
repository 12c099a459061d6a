"""Paths of the log: URIs there, literal here (Delta protocol, "Add File and Remove File")."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

_ABSOLUTE = r"^(/|[A-Za-z][A-Za-z0-9+.\-]*:/)"
_ONE_SLASH = r"^([A-Za-z][A-Za-z0-9+.\-]*):/([^/]|$)"


def storage_root(location: str) -> str:
    """What an absolute path without a scheme is relative to: `s3://bucket`, `file://`."""
    parts = urlsplit(location)
    return f"{parts.scheme}://{parts.netloc}"


def literal_paths(paths: pa.StringArray, root: str) -> pa.StringArray:
    """Decode the paths of file actions, a column at once.

    Args:
        paths: URIs, relative to the table or absolute.
        root: Of the table's storage (`storage_root`).

    Returns:
        Literal paths; absolute ones as locations, however the log spells them: `/a`, `file:/a` and
        `file:///a` are one file.
    """
    absolute = pc.match_substring_regex(paths, _ABSOLUTE)
    if pc.any(absolute).as_py():
        # A replacement is an RE2 template: `\0` to `\9` and `\\` are its only escapes.
        rooted = pc.replace_substring_regex(paths, r"^/", root.replace("\\", r"\\") + "/")
        paths = pc.replace_substring_regex(rooted, _ONE_SLASH, r"\1:///\2")
    encoded = pc.match_substring(paths, "%")
    if not pc.any(encoded).as_py():
        return paths
    decoded = [unquote(path) for path in paths.filter(encoded).to_pylist()]
    return pc.replace_with_mask(paths, encoded, pa.array(decoded, pa.string()))
