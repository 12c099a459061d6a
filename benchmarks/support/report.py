"""What a benchmark answers, and how it is shown."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Figures = Mapping[str, float]


@dataclass(frozen=True)
class Report:
    """Measured figures, named with their unit, and those of peers in the same run.

    Attributes:
        figures: Our own: `cpu_seconds_per_request`, for example.
    """

    figures: Figures
    peers: Mapping[str, Figures] = field(default_factory=dict)


def as_json(name: str, report: Report) -> str:
    """One JSON object: the benchmark's name, its figures, the peers', and the machine."""
    return json.dumps(
        {
            "benchmark": name,
            "figures": _rounded(report.figures),
            "peers": {peer: _rounded(figures) for peer, figures in report.peers.items()},
            "machine": machine(),
        }
    )


def as_table(name: str, report: Report) -> str:
    """A table with a row for each figure and a column for each peer."""
    header = [name, "sluicegate", *report.peers]
    names = dict.fromkeys([*report.figures, *(key for peer in report.peers.values() for key in peer)])
    columns = [report.figures, *report.peers.values()]
    rows = [header, *([key, *(_number(column.get(key)) for column in columns)] for key in names)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]
    host = ", ".join(f"{key} {value}" for key, value in machine().items())
    return "\n".join([*lines, "", host])


def machine() -> dict[str, str | int | float]:
    """What ran the benchmark, and how busy it was."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 1,
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _rounded(figures: Figures) -> dict[str, float]:
    """Four significant digits, and no digit of a whole number lost."""
    return {name: _round(value) for name, value in figures.items()}


def _round(value: float) -> float:
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
