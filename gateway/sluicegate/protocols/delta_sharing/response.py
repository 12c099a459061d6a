"""The response to every request about a table."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

VERSION_HEADER = "Delta-Table-Version"


@dataclass(frozen=True, slots=True)
class SharingResponse:
    """Headers, and the NDJSON lines after them, streamed in parts."""

    headers: dict[str, str]
    lines: AsyncIterator[bytes]
    body: bytes | None = None

    @classmethod
    def whole(cls, headers: dict[str, str], lines: bytes) -> SharingResponse:
        """A response whose lines are already complete."""
        return cls(headers, _once(lines), lines)


async def _once(lines: bytes) -> AsyncIterator[bytes]:
    yield lines
