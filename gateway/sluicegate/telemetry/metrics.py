"""Counters of what the steps did, and how long each step took. Off by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from opentelemetry.metrics import Counter, Histogram, Meter, UpDownCounter
from opentelemetry.metrics import _Gauge as Gauge  # its only name so far
from opentelemetry.util.types import AttributeValue

CounterName = Literal[
    "sluicegate.catalog.requests",
    "sluicegate.credentials.issued",
    "sluicegate.files.signed",
    "sluicegate.snapshots",
    "sluicegate.tasks.attempts",
]
GaugeName = Literal["sluicegate.tasks.waiting", "sluicegate.tasks.oldest"]

_COUNTERS: dict[CounterName, tuple[str, str]] = {
    "sluicegate.catalog.requests": (
        "{request}",
        "Questions that catalogs were asked, by outcome: answered, refused or failed.",
    ),
    "sluicegate.credentials.issued": (
        "{credential}",
        "Temporary credentials given to recipients, by outcome: vended or reused.",
    ),
    "sluicegate.files.signed": ("{file}", "Files whose URLs were signed for recipients."),
    "sluicegate.snapshots": ("{snapshot}", "Snapshots served, by outcome: loaded, advanced or cached."),
    "sluicegate.tasks.attempts": (
        "{attempt}",
        "Attempts at delegated tasks, by operation and by the state that they led to.",
    ),
}
_GAUGES: dict[GaugeName, tuple[str, str]] = {
    "sluicegate.tasks.waiting": ("{task}", "Delegated tasks that could start now, by operation."),
    "sluicegate.tasks.oldest": ("s", "For how long the oldest of them could have, by operation."),
}

# Seconds; the advice of the semantic conventions for HTTP, continued to ten minutes for streams.
_REQUEST_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 30.0, 60.0, 300.0, 600.0),
)
_TASK_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0)
_STEP_SECONDS = (0.0001, 0.0005, 0.001, 0.0025, *_REQUEST_SECONDS)


@dataclass(frozen=True, slots=True)
class Instruments:
    """Every instrument of the gateway (semantic conventions for HTTP metrics, "HTTP server")."""

    counters: dict[CounterName, Counter]
    steps: Histogram
    requests: Histogram
    active_requests: UpDownCounter
    response_bytes: Histogram
    task_seconds: Histogram
    gauges: dict[GaugeName, Gauge]


_instruments: Instruments | None = None


def enable(meter: Meter) -> None:
    """Start counting on this meter."""
    global _instruments
    _instruments = Instruments(
        counters={
            name: meter.create_counter(name, unit=unit, description=description)
            for name, (unit, description) in _COUNTERS.items()
        },
        steps=meter.create_histogram(
            "sluicegate.step.duration",
            unit="s",
            description="Duration of the steps of a request and of calls to stores.",
            explicit_bucket_boundaries_advisory=_STEP_SECONDS,
        ),
        requests=meter.create_histogram(
            "http.server.request.duration",
            unit="s",
            description="Duration of HTTP server requests, to the last byte of the response.",
            explicit_bucket_boundaries_advisory=_REQUEST_SECONDS,
        ),
        active_requests=meter.create_up_down_counter(
            "http.server.active_requests",
            unit="{request}",
            description="Number of HTTP server requests being served.",
        ),
        response_bytes=meter.create_histogram(
            "http.server.response.body.size",
            unit="By",
            description="Size of HTTP server response bodies.",
            explicit_bucket_boundaries_advisory=tuple(4.0**power for power in range(4, 17)),
        ),
        task_seconds=meter.create_histogram(
            "sluicegate.task.duration",
            unit="s",
            description="Duration of attempts at delegated tasks, by operation and outcome.",
            explicit_bucket_boundaries_advisory=_TASK_SECONDS,
        ),
        gauges={
            name: meter.create_gauge(name, unit=unit, description=description)
            for name, (unit, description) in _GAUGES.items()
        },
    )


def disable() -> None:
    """Stop counting."""
    global _instruments
    _instruments = None


def instruments() -> Instruments | None:
    """The instruments, or `None` while metrics are off."""
    return _instruments


def count(name: CounterName, n: int = 1, **attributes: AttributeValue) -> None:
    """Add `n` to a counter. Attributes are few and of few values: no names of recipients or files."""
    if _instruments is not None:
        _instruments.counters[name].add(n, attributes)


def measure_attempt(seconds: float, operation: str, outcome: str) -> None:
    """Tell how long an attempt at a delegated task took, and the state that it led to."""
    if _instruments is not None:
        labels = {"operation": operation, "outcome": outcome}
        _instruments.counters["sluicegate.tasks.attempts"].add(1, labels)
        _instruments.task_seconds.record(seconds, labels)


def gauge(name: GaugeName, value: float, **attributes: AttributeValue) -> None:
    """Set a gauge. Attributes are few and of few values."""
    if _instruments is not None:
        _instruments.gauges[name].set(value, attributes)
