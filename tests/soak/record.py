"""What the gateway answered, and what it should not have."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NoReturn

from soak.schedule import Outage, Schedule

_LOG = logging.getLogger(__name__)
_MOST_VIOLATIONS = 200


class Stopped(Exception):
    """The rest of an operation makes no sense: its request was not served. It is recorded."""


@dataclass(frozen=True)
class Violation:
    """Something that must not happen.

    Attributes:
        at: Seconds after the start of the run.
    """

    at: float
    what: str
    request: str
    broken: tuple[str, ...]


@dataclass(frozen=True)
class Attempt:
    """A request that was sent.

    Attributes:
        began: Seconds after the start of the run.
    """

    door: str
    request: str
    needs: frozenset[str]
    began: float


@dataclass
class Record:
    """Counts answers, and judges them by the schedule.

    Attributes:
        seconds: Durations of the answers that a door's requests were served with.
        longest_recovery: The most seconds between the end of an outage and a 503 because of it.
    """

    schedule: Schedule
    began: float = field(default_factory=time.monotonic)
    statuses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    violations: list[Violation] = field(default_factory=list)
    violated: int = 0
    longest_recovery: float = 0.0
    stalls: list[tuple[float, float]] = field(default_factory=list)
    suspects: list[tuple[Attempt, Violation]] = field(default_factory=list)

    @property
    def now(self) -> float:
        """Seconds since the start of the run."""
        return time.monotonic() - self.began

    def attempt(self, door: str, request: str, needs: Collection[str]) -> Attempt:
        """A request is about to be sent."""
        return Attempt(door, request, frozenset(needs), self.now)

    def answered(
        self, attempt: Attempt, status: int, expected: Collection[int], content: str = ""
    ) -> None:
        """Judge the status of an answer."""
        self.statuses[attempt.door][str(status)] += 1
        if status in expected:
            self.seconds[attempt.door].append(self.now - attempt.began)
            return
        if status == 503 and self.excused(attempt):
            raise Stopped
        what = f"status {status}: {content[:300]}"
        if status == 503 and attempt.needs:
            self._suspect(what, attempt)
        else:
            self.violation(what, attempt)
        raise Stopped

    def failed(self, attempt: Attempt, what: str) -> NoReturn:
        """No answer arrived, or one that is incomplete."""
        self.statuses[attempt.door]["no response"] += 1
        self.violation(what, attempt)
        raise Stopped

    def excused(self, attempt: Attempt) -> bool:
        """Whether something that a request needs was broken while it was answered."""
        causes = self.schedule.broken(attempt.needs, attempt.began, self.now)
        if not causes:
            return False
        after = min(attempt.began - each.end for each in causes)
        self.longest_recovery = max(self.longest_recovery, after)
        return True

    def late(self, what: str, seconds: float) -> None:
        """Something took too long, unless the machine stalled."""
        self._suspect(what, Attempt("liveness", "GET /livez", frozenset(), self.now - seconds))

    def _suspect(self, what: str, attempt: Attempt) -> None:
        """The stall that excuses something may be noticed only afterwards."""
        self.suspects.append((attempt, self._described(what, attempt)))

    def settle(self) -> None:
        """The run has ended: what no stall excuses is a violation."""
        for attempt, violation in self.suspects:
            since = attempt.began - self.schedule.recovery
            if not any(begin <= violation.at and since <= end for begin, end in self.stalls):
                self._add(violation)

    def violation(self, what: str, attempt: Attempt | None = None) -> None:
        """Something happened that must not."""
        self._add(self._described(what, attempt))

    def _add(self, violation: Violation) -> None:
        self.violated += 1
        if len(self.violations) < _MOST_VIOLATIONS:
            self.violations.append(violation)
            _LOG.warning("%.1f s: %s %s", violation.at, violation.request, violation.what)

    def _described(self, what: str, attempt: Attempt | None) -> Violation:
        since = self.now if attempt is None else attempt.began
        request = "" if attempt is None else f"{attempt.door}: {attempt.request}"
        return Violation(self.now, what, request, tuple(map(str, self._around(since))))

    def _around(self, since: float) -> list[Outage]:
        targets = {each.target for each in self.schedule.outages}
        return self.schedule.broken(targets, since, self.now)
