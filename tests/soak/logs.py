"""What the gateway logged that shows a defect of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SIGNS = (
    "Traceback",
    "was never retrieved",
    "was never awaited",
    "Task was destroyed",
    "ResourceWarning",
    "Unclosed",
    "exception ignored",
)
_MOST = 50
_LONGEST = 600


@dataclass
class LogFindings:
    """The lines of a log.

    Attributes:
        faults: Lines that must not be there, shortened.
    """

    lines: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    faulty: int = 0


def read_log(file: Path) -> LogFindings:
    """Read a log of JSON lines; whatever else is in it comes from Python itself."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        return findings(lines)


def findings(lines: Iterable[str]) -> LogFindings:
    """What lines of a log show."""
    found = LogFindings()
    for line in lines:
        found.lines += 1
        entry = _entry(line)
        found.levels[str(entry.get("level", "none"))] += 1
        if "status" in entry:
            found.statuses[str(entry["status"])] += 1
        if any(_faults(line, entry)):
            found.faulty += 1
            if len(found.faults) < _MOST:
                found.faults.append(line.strip()[:_LONGEST])
    return found


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _faults(line: str, entry: dict[str, Any]) -> Iterator[bool]:
    status = entry.get("status")
    exception = entry.get("exception")
    yield entry.get("level") in ("error", "critical")
    yield isinstance(status, int) and status >= 500 and status != 503
    yield isinstance(exception, dict) and "stack" in exception
    yield any(sign in line for sign in _SIGNS)
