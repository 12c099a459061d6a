"""Work that telemetry does not record, because no request caused it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_silent: ContextVar[bool] = ContextVar("sluicegate_silent", default=False)


@contextmanager
def silence() -> Iterator[None]:
    """Create no spans and count nothing in this block, including its tasks and threads."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def is_silent() -> bool:
    """Whether the calling task is in such a block."""
    return _silent.get()
