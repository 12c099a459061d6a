"""The files that deletion vectors of the Delta log are stored in."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sluicegate.api.errors import TableUnreadable
from sluicegate.api.models import join_location
from sluicegate.tables.delta.log_files.paths import check_servable

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {character: value for value, character in enumerate(_ALPHABET)}
_UUID_LENGTH = 20


def location(table: str, vector: Mapping[str, Any]) -> str | None:
    """Location of a vector's file, or `None` for an inline vector.

    Source: Delta protocol, "Deletion Vector Descriptor Schema".

    Raises:
        TableUnreadable: The descriptor is malformed or of an unknown kind.
    """
    kind, path = vector["storageType"], vector["pathOrInlineDv"]
    if kind is None or path is None:
        raise TableUnreadable("the table's log contains a deletion vector without a path")
    if kind == "i":
        return None
    check_servable(pa.array([path], pa.string()), "a deletion vector of the table's log")
    if kind == "p":
        return str(path)
    if kind == "u" and len(path) >= _UUID_LENGTH:
        prefix, encoded = path[:-_UUID_LENGTH], path[-_UUID_LENGTH:]
        name = f"deletion_vector_{uuid.UUID(bytes=_z85(encoded))}.bin"
        return join_location(table, f"{prefix}/{name}" if prefix else name)
    raise TableUnreadable(
        "the table's log contains a deletion vector of an unknown kind", detail=str(kind)
    )


def _z85(text: str) -> bytes:
    """Decode Z85 (ZeroMQ RFC 32), in which the log writes a vector file's UUID."""
    try:
        digits = [_DIGITS[character] for character in text]
        return b"".join(
            sum(
                digit * 85 ** (4 - place) for place, digit in enumerate(digits[start : start + 5])
            ).to_bytes(4, "big")
            for start in range(0, len(digits), 5)
        )
    except (KeyError, OverflowError):
        raise TableUnreadable("the table's log contains a malformed deletion vector path") from None
