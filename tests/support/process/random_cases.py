"""How many random cases a run has."""

from __future__ import annotations

import os


def times() -> int:
    """Return how many times as many random cases to check as for each change: at night, four times."""
    return int(os.environ.get("SLUICEGATE_RANDOM_TIMES", "1"))
