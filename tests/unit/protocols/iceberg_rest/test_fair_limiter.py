"""Turns of expensive steps: for all recipients together, and for each of them."""

from __future__ import annotations

from collections import Counter

import anyio
import pytest

from sluicegate.api import InvalidRequest, Unavailable
from sluicegate.protocols.iceberg_rest.fair_limiter import FairLimiter

PATIENT = 60.0


class Steps:
    """Steps that end when they are let go."""

    def __init__(self, turns: FairLimiter) -> None:
        self.running: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.go = anyio.Event()
        self._turns = turns

    async def run(self, recipient: str) -> None:
        async with self._turns.hold(recipient):
            self.running[recipient] += 1
            await self.go.wait()
            self.ended[recipient] += 1


def limiter_of(at_once: int, for_one: int, timeout: float = PATIENT) -> FairLimiter:
    return FairLimiter(at_once, for_one, timeout, "too many")


async def test_a_recipient_does_not_get_all_turns() -> None:
    steps = Steps(limiter_of(3, 2))
    async with anyio.create_task_group() as tasks:
        for _ in range(9):
            tasks.start_soon(steps.run, "greedy")
        await anyio.wait_all_tasks_blocked()
        assert steps.running == {"greedy": 2}
        for _ in range(2):
            tasks.start_soon(steps.run, "other")
        await anyio.wait_all_tasks_blocked()
        assert steps.running == {"greedy": 2, "other": 1}
        steps.go.set()
    assert steps.ended == {"greedy": 9, "other": 2}


@pytest.mark.parametrize("other", ["a", "b"])  # waits for its own turn, and for one of all
async def test_who_waits_too_long_is_refused(other: str) -> None:
    turns = limiter_of(1, 1, 0.01)
    steps = Steps(turns)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(steps.run, "a")
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Unavailable, match="too many"):
            await steps.run(other)
        steps.go.set()
    await steps.run(other)
    assert steps.ended == Counter(["a", other])


async def test_failed_and_cancelled_steps_return_their_turns() -> None:
    turns = limiter_of(1, 1)
    with pytest.raises(InvalidRequest):
        async with turns.hold("a"):
            raise InvalidRequest("no")
    steps = Steps(turns)
    async with anyio.create_task_group() as tasks:
        for recipient in ("a", "a", "b"):
            tasks.start_soon(steps.run, recipient)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert steps.ended == {}
    steps.go.set()
    for recipient in ("a", "b"):
        await steps.run(recipient)
    assert steps.ended == {"a": 1, "b": 1}


async def test_recipients_without_requests_are_forgotten() -> None:
    turns = limiter_of(1, 1)
    async with turns.hold("a"):
        assert turns.recipients == 1
    assert turns.recipients == 0
