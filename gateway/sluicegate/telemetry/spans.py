"""Spans on the steps of a request's way and on calls to stores."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from opentelemetry import trace

_tracer = trace.get_tracer("sluicegate")
_nothing: AbstractContextManager[None] = nullcontext()
_enabled = False


def enable() -> None:
    """Start making spans; called once, after a tracer provider was installed."""
    global _enabled
    _enabled = True


def span(name: str, **attributes: str | int | bool) -> AbstractContextManager[object]:
    """A span around a step. Attributes are names and numbers: never a secret, never a signed URL."""
    if not _enabled:
        return _nothing
    return _tracer.start_as_current_span(name, attributes=attributes)
