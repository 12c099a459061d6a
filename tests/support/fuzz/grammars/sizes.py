"""How often things are repeated."""

from __future__ import annotations

import random


def many(dice: random.Random, most: int = 1 << 16) -> int:
    """A number of which most are small, and some large."""
    return (
        int(2 ** dice.uniform(0, most.bit_length() - 1)) if dice.random() < 0.5 else dice.randint(0, 3)
    )
