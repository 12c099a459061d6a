"""How many random cases a run has."""

from __future__ import annotations

import os


def times() -> int:
    """Return how many times as many random cases to check as in full, which is four at night."""
    return int(os.environ.get("SLUICEGATE_RANDOM_TIMES", "1"))


def cases(number: int) -> int:
    """Return how many of the random cases to check: a quarter for each change, `times()` at night."""
    return number * times() if times() > 1 else max(1, number // 4)
