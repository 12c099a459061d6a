"""The files that deletion vectors of the Delta log are stored in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sluicegate.api.errors import TableUnreadable
from sluicegate.api.models import join_location
from sluicegate.tables.delta import z85
from sluicegate.tables.delta.log_files.paths import check_servable

_UUID_LENGTH = 20


def location(table: str, vector: Mapping[str, Any]) -> str | None:
    """Location of a vector's file, or `None` for an inline vector.

    Source: Delta protocol, "Deletion Vector Descriptor Schema".
    """
    kind, path = vector["storageType"], vector["pathOrInlineDv"]
    if kind is None or path is None:
        raise TableUnreadable("the table's log contains a deletion vector without a path")
    if kind == "i":
        return None
    if kind == "u" and len(path) == _UUID_LENGTH:  # the usual case
        return join_location(table, _name(path))
    check_servable(pa.array([path], pa.string()), "a deletion vector of the table's log")
    if kind == "p":
        return str(path)
    if kind == "u" and len(path) > _UUID_LENGTH:
        name = f"{path[:-_UUID_LENGTH]}/{_name(path[-_UUID_LENGTH:])}"
        return join_location(table, name)
    raise TableUnreadable(
        "the table's log contains a deletion vector of an unknown kind", detail=str(kind)
    )


def _name(encoded: str) -> str:
    """The name of the file with an encoded UUID."""
    try:
        digits = z85.decode(encoded).hex()
    except ValueError:
        raise TableUnreadable("the table's log contains a malformed deletion vector path") from None
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return f"deletion_vector_{'-'.join(parts)}.bin"
