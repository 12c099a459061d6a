"""Turns of expensive steps: for all recipients together, and for each of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import anyio
import pytest

from sluicegate.api import InvalidRequest, Unavailable
from sluicegate.protocols.iceberg_rest.planning.turns import PlanTurns


class Steps:
    """Steps that end when they are let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.running: Counter[str] = Counter()

    def of(self, recipient: str) -> Callable[[], str]:
        def step() -> str:
            self.running[recipient] += 1
            assert self.go.wait(30)
            return recipient

        return step

    async def until(self, running: dict[str, int]) -> None:
        """Wait until so many steps run, and give others the chance to start, too."""
        while self.running != Counter(running):  # noqa: ASYNC110 (threads)
            await anyio.sleep(0.001)
        await anyio.wait_all_tasks_blocked()
        assert self.running == Counter(running)


@pytest.fixture
def steps() -> Steps:
    return Steps()


async def test_a_recipient_does_not_get_all_turns(steps: Steps) -> None:
    turns, results = PlanTurns(at_once=3, for_one=2), list[str]()

    async def ask(recipient: str) -> None:
        results.append(await turns.run(recipient, steps.of(recipient)))

    async with anyio.create_task_group() as tasks:
        for _ in range(9):
            tasks.start_soon(ask, "greedy")
        await steps.until({"greedy": 2})
        for _ in range(2):
            tasks.start_soon(ask, "other")
        await steps.until({"greedy": 2, "other": 1})
        steps.go.set()
    assert Counter(results) == {"greedy": 9, "other": 2}


async def test_steps_run_in_worker_threads() -> None:
    assert await PlanTurns().run("a", threading.get_ident) != threading.get_ident()


async def test_who_waits_too_long_is_refused(steps: Steps) -> None:
    turns = PlanTurns(at_once=1, for_one=1, timeout=0.01)
    for other in ("a", "b"):  # waiting for the own turn, and for one of all
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turns.run, "a", steps.of("a"))
            while not steps.running["a"]:  # noqa: ASYNC110 (a thread)
                await anyio.sleep(0.001)
            with pytest.raises(Unavailable, match="too many scans"):
                await turns.run(other, steps.of(other))
            steps.go.set()
        assert await turns.run(other, lambda: 5) == 5
        steps.go.clear()
        steps.running.clear()


async def test_failed_and_cancelled_requests_return_their_turns(steps: Steps) -> None:
    turns = PlanTurns(at_once=1, for_one=1)

    def fail() -> None:
        raise InvalidRequest("no")

    with pytest.raises(InvalidRequest):
        await turns.run("a", fail)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(turns.run, "a", steps.of("a"))
        await steps.until({"a": 1})
        tasks.start_soon(turns.run, "a", steps.of("a"))
        tasks.start_soon(turns.run, "b", steps.of("b"))
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
        steps.go.set()
    assert await turns.run("a", lambda: 1) + await turns.run("b", lambda: 2) == 3


async def test_recipients_without_requests_are_forgotten() -> None:
    turns = PlanTurns()
    for number in range(5):
        await turns.run(str(number), lambda: None)
    assert turns.recipients == 0
