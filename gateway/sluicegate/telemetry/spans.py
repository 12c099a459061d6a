"""Spans for the steps of a request and for calls to stores. Metrics also record their duration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from types import TracebackType

from opentelemetry import trace
from opentelemetry.context import Context, attach, get_current
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
)
from opentelemetry.util.types import AttributeValue

from sluicegate.api.errors import SluicegateError
from sluicegate.telemetry import metrics
from sluicegate.telemetry.context import is_silent

_nothing: AbstractContextManager[Span] = nullcontext(trace.INVALID_SPAN)
# W3C Trace Context, "traceparent Header", version 00.
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_is_measuring = False
_tracer: Tracer | None = None


def enable(tracer: Tracer | None) -> None:
    """Measure steps, and create spans with this tracer, if any."""
    global _is_measuring, _tracer
    _is_measuring = True
    _tracer = tracer


def disable() -> None:
    """Turn tracing and the measurement of steps off."""
    global _is_measuring, _tracer
    _is_measuring = False
    _tracer = None


def tracer() -> Tracer | None:
    """Return the tracer, or `None` while tracing is off."""
    return _tracer


def span(name: str, **attributes: str | int | bool) -> AbstractContextManager[Span]:
    """Create a span around a step, and record its duration in `sluicegate.step.duration`.

    Only the type of an exception is recorded, because its message may contain private data.

    Args:
        attributes: Names and numbers, never a secret or a signed URL. To add more attributes, call
            `set_attribute` of the span that the context manager returns.
    """
    if not _is_measuring or is_silent():
        return _nothing
    if _tracer is None:
        return _Measurement(name)
    return _Step(_tracer.start_span(name, attributes=attributes), name)


def inner_span(name: str) -> AbstractContextManager[Span]:
    """Like `span`, for steps that also run periodically: outside of a trace, they are only measured."""
    if not _is_measuring or is_silent():
        return _nothing
    if _tracer is None or not trace.get_current_span().get_span_context().is_valid:
        return _Measurement(name)
    return _Step(_tracer.start_span(name), name)


def linked_span(
    name: str, traceparent: str | None, **attributes: str | int | bool
) -> AbstractContextManager[Span]:
    """Like `span`, with a link to a span of another trace that caused the step, perhaps long ago."""
    if _tracer is None or is_silent():
        return span(name, **attributes)
    cause = _parsed(traceparent)
    links = () if cause is None else (Link(cause),)
    return _Step(_tracer.start_span(name, attributes=attributes, links=links), name)


def current_traceparent() -> str | None:
    """Return the current span in the form of the header `traceparent`, or `None` outside of a trace."""
    trace_ids = current_trace()
    if trace_ids is None:
        return None
    flags = trace.get_current_span().get_span_context().trace_flags
    return f"00-{trace_ids[0]}-{trace_ids[1]}-{flags:02x}"


def _parsed(traceparent: str | None) -> SpanContext | None:
    found = _TRACEPARENT.fullmatch(traceparent or "")
    if found is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in found.groups())
    context = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
    return context if context.is_valid else None


def current_trace() -> tuple[str, str] | None:
    """Return trace id and span id of the calling task in hexadecimal, or `None` outside of a trace."""
    if _tracer is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)


def start_server_span(
    tracer: Tracer, name: str, headers: Mapping[str, str], attributes: Mapping[str, AttributeValue]
) -> Span:
    """Start a request's span, which continues the trace of the headers, if any (W3C Trace Context)."""
    from opentelemetry.propagate import extract  # loads the propagators from OTEL_PROPAGATORS

    return tracer.start_span(
        name, context=extract(headers), kind=SpanKind.SERVER, attributes=attributes
    )


class current_span:  # noqa: N801  (used as a function, like `contextlib.closing`)
    """Sets the current span, and ends it with the type of an exception that its block raises.

    The span has the status of an error only if the gateway failed, not if a task was cancelled, a
    generator was closed, or the gateway rejected the request.

    The previous span is restored by value instead of a context token, because another task may close a
    generator, and in its context the token is invalid.
    """

    __slots__ = ("_outer", "_span")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._outer: Context = get_current()

    def __enter__(self) -> Span:
        attach(trace.set_span_in_context(self._span))
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            self._span.set_attribute("error.type", type(error).__name__)
            if not (isinstance(error, SluicegateError) and error.status < 500):
                self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()
        attach(self._outer)


class _Step(current_span):
    __slots__ = ("_measurement",)

    def __init__(self, span: Span, name: str) -> None:
        super().__init__(span)
        self._measurement = _Measurement(name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._measurement.__exit__(kind, error, stack)
        super().__exit__(kind, error, stack)


class _Measurement:
    """Records the duration of a step."""

    __slots__ = ("_name", "_started")

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = perf_counter()

    def __enter__(self) -> Span:
        return trace.INVALID_SPAN

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        instruments = metrics.instruments()
        if instruments is not None:
            attributes = {"step": self._name}
            if isinstance(error, Exception):
                attributes["error.type"] = type(error).__name__
            instruments.steps.record(perf_counter() - self._started, attributes)
