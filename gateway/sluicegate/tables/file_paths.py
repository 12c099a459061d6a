"""Validates paths of data files: rejects those that no store or link can serve.

Anyone who writes a table chooses its paths. Some cannot be a file's name in a store, are alternative
names of a file, or name the table's own metadata. These are rejected when the table is read, not when a
link is opened.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import TableUnreadable

_LONGEST = 1024  # bytes: object stores do not accept longer keys
_SHOWN = 200  # characters
# Characters that URLs and listings cannot contain, and names that local stores use for unfinished
# uploads.
_UNSERVABLE = r"[\x00-\x1f\x7f]|#[0-9]+$"
# Segments that are removed where allowed. For `file:///a` these include the slashes, which then stay.
_STEPS = r"(^|/)\.{1,2}(/|$)|[^:]//|^/|/$|^$"
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*://")


def plain_paths(
    paths: pa.StringArray, metadata: Sequence[str] = (), *, collapse: bool = True
) -> pa.StringArray:
    """Paths of data files in the form that stores use.

    Args:
        paths: Literal paths, relative to the table's location, or absolute locations.
        metadata: Folders of the table's own metadata, with a trailing slash. Data files cannot be
            there.
        collapse: Whether `a//b` and `./a/b` become `a/b`, as in file systems. Otherwise, they are
            unchanged, or rejected if links cannot contain them.

    Raises:
        TableUnreadable: A path is not valid for a data file.
    """
    if len(paths) == 0:
        return paths
    if pc.max(pc.binary_length(paths)).as_py() > _LONGEST:
        raise _refused(paths.filter(pc.greater(pc.binary_length(paths), _LONGEST)), "is too long")
    unservable = pc.match_substring_regex(paths, _UNSERVABLE)
    if pc.any(unservable).as_py():
        raise _refused(paths.filter(unservable), "has characters that links cannot contain")
    stepped = pc.match_substring_regex(paths, _STEPS)
    if pc.any(stepped).as_py():
        plain = [_plain(path, collapse=collapse) for path in paths.filter(stepped).to_pylist()]
        paths = pc.replace_with_mask(paths, stepped, pa.array(plain, pa.string()))
    for folder in metadata:
        inside = pc.starts_with(paths, folder)
        if pc.any(inside).as_py():
            raise _refused(paths.filter(inside), "is in the folder of the table's metadata")
    return paths


def _plain(path: str, *, collapse: bool) -> str:
    match = _SCHEME.match(path)
    scheme = match[0] if match else ""
    first, *steps = path.removeprefix(scheme).split("/")
    if collapse and not scheme:
        first, steps = "", [first, *steps]
    if ".." in steps or first == ".." or not steps or steps[-1] in ("", "."):
        raise _refused([path], "does not name a file in its folder")
    if not collapse:
        if "." in (first, *steps):
            raise _refused([path], "has a segment that links cannot contain")
        return path
    kept = [step for step in steps if step not in ("", ".")]
    return f"{scheme}{'/'.join([first, *kept] if scheme else kept)}"


def _refused(paths: Sequence[object] | pa.StringArray, why: str) -> TableUnreadable:
    path = str(paths[0])
    shown = ascii(path[:_SHOWN])
    return TableUnreadable(f"the path of a data file of the table {why}: {shown}")
