"""A clock that only moves when a test says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    """Call it for the time, in whatever unit the code under test wants."""

    now: float = 1_800_000_000_000

    def __call__(self) -> int:
        return int(self.now)

    def advance(self, by: float) -> None:
        """Let time pass."""
        self.now += by
