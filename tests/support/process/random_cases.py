"""How many cases a run has: few for each change, all of them and more at night."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest


def times() -> int:
    """Return how many times as many random cases to check as in full, which is four at night."""
    return int(os.environ.get("SLUICEGATE_RANDOM_TIMES", "1"))


def cases(number: int) -> int:
    """Return how many of the random cases to check: a quarter for each change, `times()` at night."""
    return number * times() if times() > 1 else max(1, number // 4)


def one_of(count: int, values: Sequence[object], night: pytest.MarkDecorator) -> list[Any]:
    """Return parameters of which the first, and then one of `count`, are not left to the night."""
    return [
        pytest.param(value, marks=night if number % count else ())
        for number, value in enumerate(values)
    ]
