"""What every question about a table is answered with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

VERSION_HEADER = "Delta-Table-Version"


@dataclass(frozen=True, slots=True)
class Answer:
    """Headers, and the NDJSON lines behind them, in parts as they are made."""

    headers: dict[str, str]
    lines: AsyncIterator[bytes]

    @classmethod
    def whole(cls, headers: dict[str, str], lines: bytes) -> Answer:
        """An answer that is made already."""
        return cls(headers, _once(lines))


async def _once(lines: bytes) -> AsyncIterator[bytes]:
    yield lines
