"""Values of JSON, which whoever writes a table may have made anything."""

from __future__ import annotations

_FIRST, _LAST = -(2**63), 2**63 - 1


def whole(value: object, first: int = _FIRST, last: int = _LAST) -> int:
    """A whole number, of 64 bits if nothing else is said.

    Raises:
        ValueError: It is something else, or none of this range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not first <= value <= last:
        raise ValueError("a number is none, or out of its range")
    return value


def text(value: object) -> str:
    """A text.

    Raises:
        ValueError: It is something else.
    """
    if not isinstance(value, str):
        raise ValueError("a text is none")
    return value
