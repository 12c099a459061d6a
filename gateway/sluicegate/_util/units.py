"""Durations and sizes as people write them in configuration files: `90d`, `1h30m`, `256MB`, `1GiB`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(?:[0-9]+[smhdw])+")
_DURATION_PART = re.compile(r"([0-9]+)([smhdw])")

_BYTES: dict[str, int] = {"B": 1, "": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_UNIT_OF = {unit.upper(): factor for unit, factor in _BYTES.items()}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]*)")


def parse_duration(text: str | int) -> int:
    """Return the seconds of `90d`, `24h`, `15m`, `30s`, `2w`, a sum like `1h30m`, or a bare number."""
    expected = "expected a duration like 90d, 24h, 15m or 30s"
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise ValueError(expected)
    compact = str(text).strip()
    if compact.isascii() and compact.isdecimal():
        return int(compact)
    if not _DURATION.fullmatch(compact):
        raise ValueError(expected)
    return sum(int(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(compact))


def format_duration(seconds: int) -> str:
    """Format seconds exactly, in the largest possible unit: `90d`, `36h`, `90s`."""
    for unit, factor in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds and seconds % factor == 0:
            return f"{seconds // factor}{unit}"
    return f"{seconds}s"


def parse_size(text: str | int) -> int:
    """Return the bytes of `256MB` (decimal), `1GiB` (binary), `1.5 GB`, or a bare number."""
    expected = "expected a size like 256MB, 1GiB or a number of bytes"
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise ValueError(expected)
    found = _SIZE.fullmatch(str(text).strip())
    factor = _UNIT_OF.get(found[2].upper()) if found else None
    if found is None or factor is None:
        raise ValueError(expected)
    return int(Decimal(found[1]) * factor)


Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    WithJsonSchema(
        {"type": ["string", "integer"], "examples": ["90d", "24h", "15m", 30], "minimum": 0}
    ),
]
"""A duration field: written as text, validated to seconds."""

ByteSize = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["256MB", "1GiB", 65536], "minimum": 0}),
]
"""A size field: written as text, validated to bytes."""
