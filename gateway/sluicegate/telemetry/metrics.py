"""Counters, gauges, and histograms of the gateway. Off by default."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import time
from typing import Literal

from opentelemetry.metrics import Counter, Histogram, Meter, UpDownCounter
from opentelemetry.metrics import _Gauge as Gauge  # OpenTelemetry has no public name for it yet
from opentelemetry.util.types import AttributeValue

from sluicegate.telemetry.context import is_silent

CounterName = Literal[
    "sluicegate.answers",
    "sluicegate.audit.records",
    "sluicegate.catalog.requests",
    "sluicegate.config.reloads",
    "sluicegate.credentials.issued",
    "sluicegate.files.signed",
    "sluicegate.index.snapshots",
    "sluicegate.limits.refused",
    "sluicegate.processes.failed",
    "sluicegate.schedules.firings",
    "sluicegate.schedules.tasks",
    "sluicegate.snapshots",
    "sluicegate.tasks.attempts",
]
GaugeName = Literal[
    "sluicegate.answers.memory",
    "sluicegate.audit.waiting",
    "sluicegate.certificate.expiry",
    "sluicegate.config.applied",
    "sluicegate.lines.memory",
    "sluicegate.profiles.ending",
    "sluicegate.ready",
    "sluicegate.snapshots.memory",
    "sluicegate.tasks.waiting",
    "sluicegate.tasks.oldest",
]

_COUNTERS: dict[CounterName, tuple[str, str]] = {
    "sluicegate.answers": (
        "{answer}",
        "Answers to queries while they are cached, by outcome: made or reused.",
    ),
    "sluicegate.audit.records": (
        "{record}",
        "Records of the audit log, by sink and outcome: written, or failed if refused or lost.",
    ),
    "sluicegate.catalog.requests": (
        "{request}",
        "Requests to catalogs, by outcome: answered, refused or failed.",
    ),
    "sluicegate.config.reloads": (
        "{reload}",
        "Reloads of the configuration, by outcome: applied or failed.",
    ),
    "sluicegate.credentials.issued": (
        "{credential}",
        "Temporary credentials issued to recipients, by outcome: vended or reused.",
    ),
    "sluicegate.files.signed": ("{file}", "Files whose signed URLs were sent to recipients."),
    "sluicegate.index.snapshots": (
        "{snapshot}",
        "Snapshots of indexed tables, by outcome: used, or failed if the log is read instead.",
    ),
    "sluicegate.limits.refused": ("{request}", "Requests refused with 429, by limit."),
    "sluicegate.processes.failed": (
        "{process}",
        "Gateway processes that ended unexpectedly and were replaced.",
    ),
    "sluicegate.schedules.firings": (
        "{firing}",
        "Firings of schedules, by schedule and outcome: SUBMITTED, SKIPPED or FAILED.",
    ),
    "sluicegate.schedules.tasks": ("{task}", "Tasks that schedules submitted, by schedule."),
    "sluicegate.snapshots": ("{snapshot}", "Snapshots served, by outcome: loaded, advanced or cached."),
    "sluicegate.tasks.attempts": (
        "{attempt}",
        "Attempts at delegated tasks, by operation and resulting state.",
    ),
}
_GAUGES: dict[GaugeName, tuple[str, str]] = {
    "sluicegate.answers.memory": ("By", "Memory for cached answers to queries."),
    "sluicegate.certificate.expiry": ("s", "Expiry of the server's certificate, since the epoch."),
    "sluicegate.config.applied": ("s", "When the configuration was last applied, since the epoch."),
    "sluicegate.audit.waiting": ("{record}", "Records that wait to be written, by sink."),
    "sluicegate.profiles.ending": ("{recipient}", "Recipients whose last valid profile ends soon."),
    "sluicegate.ready": ("{process}", "Whether the process is ready to serve: 1 or 0."),
    "sluicegate.lines.memory": ("By", "Memory for parts of answers that are the same for a snapshot."),
    "sluicegate.snapshots.memory": ("By", "Memory for cached snapshots of tables."),
    "sluicegate.tasks.waiting": ("{task}", "Delegated tasks that are due, by operation."),
    "sluicegate.tasks.oldest": ("s", "Time since the oldest delegated task became due, by operation."),
}

# Seconds: the buckets of the semantic conventions for HTTP, extended to ten minutes for streams.
_REQUEST_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 30.0, 60.0, 300.0, 600.0),
)
_TASK_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0)
_STEP_SECONDS = (0.0001, 0.0005, 0.001, 0.0025, *_REQUEST_SECONDS)
_BODY_BYTES = tuple(4.0**power for power in range(4, 17))

# By the attribute of `Instruments`: name, unit, description, and the boundaries of buckets.
_HISTOGRAMS: dict[str, tuple[str, str, str, Sequence[float]]] = {
    "steps": (
        "sluicegate.step.duration",
        "s",
        "Duration of steps of a request and of calls to stores.",
        _STEP_SECONDS,
    ),
    "requests": (
        "http.server.request.duration",
        "s",
        "Duration of HTTP server requests, to the last byte of the response.",
        _REQUEST_SECONDS,
    ),
    "response_bytes": (
        "http.server.response.body.size",
        "By",
        "Size of HTTP server response bodies.",
        _BODY_BYTES,
    ),
    "task_seconds": (
        "sluicegate.task.duration",
        "s",
        "Duration of attempts at delegated tasks, by operation and outcome.",
        _TASK_SECONDS,
    ),
    "loop_delay": (
        "sluicegate.event_loop.delay",
        "s",
        "How much later than scheduled the event loop runs.",
        _STEP_SECONDS,
    ),
    "audit_seconds": (
        "sluicegate.audit.write.duration",
        "s",
        "Duration of writes to the audit log, each of many records, by sink.",
        _STEP_SECONDS,
    ),
}
_LEVELS: dict[str, tuple[str, str, str]] = {
    "active_requests": (
        "http.server.active_requests",
        "{request}",
        "Number of HTTP server requests being served.",
    ),
    "connections": (
        "db.client.connection.count",
        "{connection}",
        "Connections to the gateway's database, by state: idle or used.",
    ),
}


@dataclass(frozen=True, slots=True)
class Instruments:
    """The gateway's instruments (OpenTelemetry semantic conventions, "HTTP server" of metrics)."""

    counters: dict[CounterName, Counter]
    steps: Histogram
    requests: Histogram
    active_requests: UpDownCounter
    response_bytes: Histogram
    task_seconds: Histogram
    loop_delay: Histogram
    connections: UpDownCounter
    audit_seconds: Histogram
    gauges: dict[GaugeName, Gauge]
    meter: Meter
    of_plugins: dict[str, Counter] = field(default_factory=dict)


_instruments: Instruments | None = None


def enable(meter: Meter) -> None:
    """Create the instruments on this meter."""
    global _instruments
    histograms = {
        name: meter.create_histogram(
            sent, unit=unit, description=description, explicit_bucket_boundaries_advisory=boundaries
        )
        for name, (sent, unit, description, boundaries) in _HISTOGRAMS.items()
    }
    levels = {
        name: meter.create_up_down_counter(sent, unit=unit, description=description)
        for name, (sent, unit, description) in _LEVELS.items()
    }
    _instruments = Instruments(
        counters={
            name: meter.create_counter(name, unit=unit, description=description)
            for name, (unit, description) in _COUNTERS.items()
        },
        gauges={
            name: meter.create_gauge(name, unit=unit, description=description)
            for name, (unit, description) in _GAUGES.items()
        },
        meter=meter,
        steps=histograms["steps"],
        requests=histograms["requests"],
        active_requests=levels["active_requests"],
        response_bytes=histograms["response_bytes"],
        task_seconds=histograms["task_seconds"],
        loop_delay=histograms["loop_delay"],
        connections=levels["connections"],
        audit_seconds=histograms["audit_seconds"],
    )


def disable() -> None:
    """Turn metrics off."""
    global _instruments
    _instruments = None


def instruments() -> Instruments | None:
    """Return the instruments, or `None` while metrics are off."""
    return _instruments


def count(name: CounterName, n: int = 1, **attributes: AttributeValue) -> None:
    """Add `n` to a counter. Use few attributes with few values: no names of recipients or files."""
    if _instruments is not None and not is_silent():
        _instruments.counters[name].add(n, attributes)


def count_of_plugin(plugin: str, name: str, n: int = 1, **attributes: AttributeValue) -> None:
    """Add `n` to a plugin's counter `sluicegate.plugin.PLUGIN.name`, which is created when needed."""
    if _instruments is None:
        return
    known = _instruments.of_plugins
    full_name = f"sluicegate.plugin.{plugin}.{name}"
    if full_name not in known:
        known[full_name] = _instruments.meter.create_counter(
            full_name, unit="1", description=f"Counted by the plugin {plugin}."
        )
    known[full_name].add(n, attributes)


def measure_attempt(seconds: float, operation: str, outcome: str) -> None:
    """Record the duration of an attempt at a delegated task, and the resulting state."""
    if _instruments is not None:
        labels = {"operation": operation, "outcome": outcome}
        _instruments.counters["sluicegate.tasks.attempts"].add(1, labels)
        _instruments.task_seconds.record(seconds, labels)


def measure_audit(sink: str, records: int, seconds: float | None, *, waiting: int) -> None:
    """Record a write to the audit log."""
    if _instruments is None:
        return
    outcome = "failed" if seconds is None else "written"
    _instruments.counters["sluicegate.audit.records"].add(records, {"sink": sink, "outcome": outcome})
    _instruments.gauges["sluicegate.audit.waiting"].set(waiting, {"sink": sink})
    if seconds is not None:
        _instruments.audit_seconds.record(seconds, {"sink": sink})


def gauge(name: GaugeName, value: float, **attributes: AttributeValue) -> None:
    """Set a gauge. Use few attributes with few values."""
    if _instruments is not None and not is_silent():
        _instruments.gauges[name].set(value, attributes)


def config_applied() -> None:
    """Record that the configuration was applied now: at the start, or when it was reloaded."""
    gauge("sluicegate.config.applied", time())


def count_connection(state: str, n: int) -> None:
    """Add to the number of connections to the database, which are idle or used."""
    if _instruments is not None:
        _instruments.connections.add(n, {"state": state})


_INTERVAL = 0.5


async def measure_event_loop() -> None:
    """Record the delay twice a second, until canceled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _INTERVAL
        await asyncio.sleep(_INTERVAL)
        recorded = instruments()
        if recorded is not None:
            recorded.loop_delay.record(max(0.0, loop.time() - due))
