"""The number of processes: from the command line, or from the CPUs that this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

import click

AUTO = "auto"
_MOST = 256
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


class ProcessCount(click.ParamType[int]):
    """A number of processes, or `auto` for the number of usable CPUs."""

    name = f"N|{AUTO}"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Convert the text of the command line."""
        if isinstance(value, int):
            return value
        if value == AUTO:
            return usable_cpus()
        text = str(value)
        if text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST:
            return int(text)
        self.fail(f"expected a number from 1 to {_MOST}, or {AUTO}; got {text!r}", param, ctx)


def usable_cpus(cpu_max: Path = _CPU_MAX) -> int:
    """How many CPUs this process may use, at least 1: its affinity, and its container's quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, _quota(cpu_max))))


def _quota(cpu_max: Path) -> float:
    try:
        quota, period = cpu_max.read_text(encoding="ascii").split()
        return math.inf if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf
