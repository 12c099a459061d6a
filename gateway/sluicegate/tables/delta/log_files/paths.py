"""Paths of the log: URIs there, literal here (Delta protocol, "Add File and Remove File")."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import TableUnreadable

_ABSOLUTE = r"^(/|[A-Za-z][A-Za-z0-9+.\-]*:/)"
_ONE_SLASH = r"^([A-Za-z][A-Za-z0-9+.\-]*):/([^/]|$)"

# Segments that the readers of Spark and of Rust omit or resolve, as `java.net.URI` does.
_NOT_NORMAL = r"(^|[^:/]/|^/)\.{0,2}(/|$)"
_UNSERVABLE = r"^$|[\x00-\x1f\x7f]|(^|/)_delta_log(/|$)"
_ODD_STEP = re.compile(rb"/[/._]")
_SPACE = 0x20
LONGEST_PATH = 1024  # bytes of an object's name in S3, Azure and Google Cloud Storage


def storage_root(location: str) -> str:
    """The root for absolute paths without a scheme: `s3://bucket`, `file://`."""
    parts = urlsplit(location)
    return f"{parts.scheme}://{parts.netloc}"


def literal_paths(paths: pa.StringArray, root: str) -> pa.StringArray:
    """Decode the paths of file actions, one column at a time.

    Returns:
        Literal paths. Absolute ones are locations, regardless of their form in the log: `/a`, `file:/a`
            and `file:///a` are the same file.
    """
    may_be_absolute = b":" in _texts(paths) or pc.any(pc.starts_with(paths, "/")).as_py()
    if may_be_absolute and pc.any(pc.match_substring_regex(paths, _ABSOLUTE)).as_py():
        # A replacement is an RE2 template: `\0` to `\9` and `\\` are its only escapes.
        rooted = pc.replace_substring_regex(paths, r"^/", root.replace("\\", r"\\") + "/")
        paths = pc.replace_substring_regex(rooted, _ONE_SLASH, r"\1:///\2")
    if b"%" in _texts(paths):
        paths = _mapped(paths, pc.match_substring(paths, "%"), unquote)
    if not _may_be_odd(paths):
        return paths
    return _mapped(paths, pc.match_substring_regex(paths, _NOT_NORMAL), normalized)


def other_spellings(spelled: pa.StringArray, literal: pa.StringArray) -> pa.StringArray:
    """The paths as written in the log, null if they equal the literal path."""
    if literal is spelled:
        return pa.nulls(len(literal), pa.string())
    return pc.if_else(pc.equal(spelled, literal), pa.scalar(None, pa.string()), spelled)


def check_servable(paths: pa.StringArray, source: str) -> None:
    """Reject files that no link can address, and files of the log itself."""
    longest = pc.max(pc.binary_length(paths)).as_py() or 0
    suspicious = _may_be_odd(paths) or _has_control(_texts(paths))
    if longest <= LONGEST_PATH and not (
        suspicious and pc.any(pc.match_substring_regex(paths, _UNSERVABLE)).as_py()
    ):
        return
    raise TableUnreadable(
        f"{source} names a file that cannot be shared: its path is empty, has control characters or "
        f"more than {LONGEST_PATH} bytes, or it is in a _delta_log"
    )


def normalized(path: str) -> str:
    """A literal path without empty segments and dots. Unchanged if it leaves its directory."""
    scheme, separator, rest = path.rpartition("://")
    host, slash, rest = rest.partition("/") if separator else ("", "", rest)
    segments: list[str] = []
    for segment in rest.split("/"):
        if segment == "..":
            if not segments or separator:
                return path
            segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    return f"{scheme}{separator}{host}{slash}{'/'.join(segments)}"


def _may_be_odd(paths: pa.StringArray) -> bool:
    """Whether a path might have a segment that is empty, or that starts with a dot or an underscore.

    Faster than a regular expression for each path, especially if no path has a folder.
    """
    if not len(paths):
        return False
    texts = _texts(paths)
    if b"/" in texts and (pc.any(pc.ends_with(paths, "/")).as_py() or _ODD_STEP.search(texts)):
        return True
    shortest = pc.min(pc.binary_length(paths)).as_py() or 0
    odd = pc.or_(pc.starts_with(paths, "."), pc.starts_with(paths, "_"))
    return bool(shortest <= 2 or pc.any(odd).as_py())


def _has_control(texts: bytes) -> bool:
    codes = pa.Array.from_buffers(pa.uint8(), len(texts), [None, pa.py_buffer(texts)])
    return b"\x7f" in texts or (len(codes) > 0 and pc.min(codes).as_py() < _SPACE)


def _texts(paths: pa.StringArray) -> bytes:
    """The bytes of all paths, concatenated."""
    _, offsets, data = paths.buffers()
    if data is None:
        return b""
    ends = memoryview(offsets).cast("i")
    first, last = ends[paths.offset], ends[paths.offset + len(paths)]
    return bytes(memoryview(data)[first:last])


def _mapped(
    paths: pa.StringArray, mask: pa.BooleanArray, change: Callable[[str], str]
) -> pa.StringArray:
    """The paths, where those selected by a mask are mapped one by one."""
    if not pc.any(mask).as_py():
        return paths
    changed = [change(path) for path in paths.filter(mask).to_pylist()]
    return pc.replace_with_mask(paths, mask, pa.array(changed, pa.string()))
