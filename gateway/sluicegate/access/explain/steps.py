"""The steps of a decision about access, each with the element that decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["allowed", "refused", "unavailable", "unknown"]
"""`unavailable`: no decision is possible now. `unknown`: the decision needs more than was given."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a decision."""

    name: str
    outcome: Outcome
    reason: str


def refusal(steps: Iterable[Step]) -> Step | None:
    """The first step that does not allow access, or `None`."""
    return next((step for step in steps if step.outcome in ("refused", "unavailable")), None)
