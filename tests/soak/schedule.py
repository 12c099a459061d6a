"""When which catalog or store fails, and how: decided by a seed before the run begins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class Fault(StrEnum):
    """How a server fails."""

    REFUSE = "refuses connections"
    HANG = "does not respond"
    ERROR = "responds 500"
    RESET = "resets connections in a response"
    TRUNCATE = "ends responses early"
    SLOW = "is slow"


@dataclass(frozen=True)
class Outage:
    """A server fails for a while.

    Attributes:
        begin: Seconds after the start of the run.
    """

    target: str
    fault: Fault
    begin: float
    end: float

    def __str__(self) -> str:
        return f"{self.target} {self.fault} ({self.begin:.0f} to {self.end:.0f} s)"


@dataclass(frozen=True)
class Pace:
    """How often servers fail, in seconds; both are averages."""

    outage: float = 8.0
    between: float = 60.0


class Schedule:
    """All outages of a run."""

    def __init__(self, outages: Collection[Outage], *, recovery: float) -> None:
        self.outages: Sequence[Outage] = sorted(outages, key=lambda each: (each.begin, each.target))
        self.recovery = recovery

    @classmethod
    def random(
        cls, seed: int, targets: Sequence[str], duration: float, *, pace: Pace, recovery: float
    ) -> Schedule:
        """Draw outages of all targets, which are independent of each other."""
        drawn = [
            each
            for target in targets
            for each in _outages(Random(f"{seed} {target}"), target, pace)
            if each.end <= duration
        ]
        return cls(drawn, recovery=recovery)

    def fault(self, target: str, now: float) -> Fault | None:
        """How a server fails at a time, if it does."""
        return next((each.fault for each in self.broken([target], now, now, recovery=0)), None)

    def broken(
        self, targets: Collection[str], since: float, until: float, *, recovery: float | None = None
    ) -> list[Outage]:
        """The outages of servers that can have affected a request between two times."""
        after = self.recovery if recovery is None else recovery
        return [
            each
            for each in self.outages
            if each.target in targets and each.begin <= until and since <= each.end + after
        ]


def _outages(random: Random, target: str, pace: Pace) -> Iterator[Outage]:
    faults: list[Fault] = []
    now = 0.0
    while now < 1_000_000:
        now += random.uniform(0.5, 1.5) * pace.between
        end = now + random.uniform(0.4, 1.6) * pace.outage
        if not faults:  # each fault has its turn, so that short runs have several of them
            faults = random.sample(list(Fault), len(Fault))
        yield Outage(target, faults.pop(), now, end)
        now = end
