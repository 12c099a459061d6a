"""The names of files that the gateway generates for a view of a table."""

from __future__ import annotations

import re
from typing import Final

MANIFEST_LIST: Final = "~/manifest-list.avro"
"""The manifest list of the view's snapshot."""

METADATA: Final = "~/metadata.json"
"""The metadata of the table, as `loadTable` returns it for the view's version."""

_NUMBER = "(?:0|[1-9][0-9]{0,9})"
_GENERATED = re.compile(
    rf"~/(?:metadata\.json|manifest-list\.avro|(?P<kind>manifest|vectors|deletes)-(?P<number>{_NUMBER})"
    r"\.(?:avro|puffin|parquet))"
)


def manifest_name(number: int) -> str:
    """The name of a manifest."""
    return f"~/manifest-{number}.avro"


def vectors_name(number: int) -> str:
    """The name of a Puffin file with deletion vectors that the table stores inline."""
    return f"~/vectors-{number}.puffin"


def deletes_name(number: int) -> str:
    """The name of a position delete file."""
    return f"~/deletes-{number}.parquet"


def is_generated(path: str) -> bool:
    """Whether a path is the name of a generated file, which no store has."""
    return _GENERATED.fullmatch(path) is not None


def numbered(name: str) -> tuple[str, int]:
    """The kind (`manifest`, `vectors` or `deletes`) and the number of a generated file.

    The metadata, the manifest list and other names have the kind `""`.
    """
    match = _GENERATED.fullmatch(name)
    if match is None or match["kind"] is None:
        return "", 0
    return match["kind"], int(match["number"])
