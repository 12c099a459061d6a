from __future__ import annotations

import time

import pytest

LONGEST_TEST = 60
DAY = 86_400


@pytest.fixture(autouse=True)
def one_day() -> None:
    """Start no test right before a new day, with which quotas begin again."""
    left = DAY - time.time() % DAY
    if left < LONGEST_TEST:
        time.sleep(left)
