"""Describes errors of plugins to operators, without messages that can contain secrets."""

from __future__ import annotations

from traceback import extract_tb


def type_and_place(error: BaseException) -> str:
    """The type of a caught error, and the file and line that raised it."""
    place = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {place.filename}:{place.lineno}"
