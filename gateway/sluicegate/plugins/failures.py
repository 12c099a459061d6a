"""Describes errors of plugins to operators, without their messages, which can contain secrets."""

from __future__ import annotations

from traceback import extract_tb


def failure_reason(error: BaseException) -> str:
    """The type of an error, and its place or the module that can't be imported."""
    kind = type(error).__name__
    if isinstance(error, ImportError) and error.name:
        return f"{kind} for the module {error.name}"
    place = extract_tb(error.__traceback__)[-1]
    return f"{kind} in {place.filename}:{place.lineno}"
