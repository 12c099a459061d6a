"""Validates JSON values of table metadata, which is written by untrusted parties."""

from __future__ import annotations

_FIRST, _LAST = -(2**63), 2**63 - 1


def whole(value: object, first: int = _FIRST, last: int = _LAST) -> int:
    """Return an integer, by default of up to 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int) or not first <= value <= last:
        raise ValueError("a value is not an integer, or is out of range")
    return value


def text(value: object) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise ValueError("a value is not a string")
    return value
