"""Releases memory that errors hold: tracebacks refer to local variables of their functions."""

from __future__ import annotations

import traceback
from collections.abc import Iterator


def release_locals(error: BaseException) -> None:
    """Clear the local variables in the tracebacks of an error and its causes.

    An error that a task raised is part of a reference cycle. Without this function, all data that a
    failed read decoded stays in memory until the garbage collector finds the cycle.
    """
    for each in _causes(error):
        traceback.clear_frames(each.__traceback__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    found, left = set[int](), [error]
    while left:
        each = left.pop()
        if id(each) in found:
            continue
        found.add(id(each))
        yield each
        members = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        left += [other for other in (each.__cause__, each.__context__, *members) if other is not None]
