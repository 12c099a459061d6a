"""Metrics of the process itself (OpenTelemetry semantic conventions, "Process")."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from opentelemetry.metrics import CallbackOptions, Meter, Observation

# Linux shows its processes here. Elsewhere, memory and descriptors are not reported.
_MEMORY = Path("/proc/self/statm")
_DESCRIPTORS = Path("/proc/self/fd")


def observe_process(meter: Meter) -> None:
    """Report processor time, memory, file descriptors, uptime and the version of this process."""
    started = time.monotonic()
    build = {"version": version("sluicegate"), "python": platform.python_version()}

    def uptime(options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(time.monotonic() - started)]

    def info(options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(1, build)]

    meter.create_observable_counter(
        "process.cpu.time", [_cpu], unit="s", description="Processor time of the process."
    )
    meter.create_observable_up_down_counter(
        "process.memory.usage", [_memory], unit="By", description="Resident memory of the process."
    )
    meter.create_observable_up_down_counter(
        "process.unix.file_descriptor.count",
        [_descriptors],
        unit="{file_descriptor}",
        description="Open file descriptors of the process.",
    )
    meter.create_observable_gauge(
        "process.uptime", [uptime], unit="s", description="Time since the process was started."
    )
    meter.create_observable_gauge(
        "sluicegate.build.info", [info], unit="{build}", description="Always 1, with the versions."
    )


def _cpu(options: CallbackOptions) -> Iterable[Observation]:
    times = os.times()
    return [
        Observation(times.user, {"cpu.mode": "user"}),
        Observation(times.system, {"cpu.mode": "system"}),
    ]


def _memory(options: CallbackOptions) -> Iterable[Observation]:
    try:
        pages = int(_MEMORY.read_text(encoding="ascii").split()[1])
    except OSError:
        return []
    return [Observation(pages * os.sysconf("SC_PAGE_SIZE"))]


def _descriptors(options: CallbackOptions) -> Iterable[Observation]:
    try:
        return [Observation(sum(1 for _ in _DESCRIPTORS.iterdir()))]
    except OSError:
        return []
