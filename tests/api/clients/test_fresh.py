from __future__ import annotations

import logging
from dataclasses import dataclass

import anyio
import anyio.lowlevel
import pytest

from sluicegate.api import RefreshingValue, StorageError

HOUR = 3600


@dataclass(frozen=True)
class Session:
    """The n-th that was given."""

    number: int
    expires_at: int | None


class Sessions:
    """Gives sessions of an hour by its clock, or without an end, or fails when it is told to."""

    def __init__(self, *, ends: bool = True) -> None:
        self._ends = ends
        self.now = 1_000_000.0
        self.asked = self.given = 0
        self.fails = False
        self.open = anyio.Event()
        self.open.set()

    async def load(self) -> Session:
        await anyio.lowlevel.checkpoint()
        await self.open.wait()
        self.asked += 1
        if self.fails:
            raise StorageError("no session today")
        self.given += 1
        return Session(self.given, int((self.now + HOUR) * 1000) if self._ends else None)

    def fresh(
        self, reload_after: int | None = None, margin: int | None = None
    ) -> RefreshingValue[Session]:
        return RefreshingValue(
            self.load, "sessions", reload_after=reload_after, margin=margin, clock=lambda: self.now
        )


@pytest.mark.parametrize(
    ("ends", "reload_after", "seconds_later", "given"),
    [
        (True, None, 0, 1),
        (True, None, HOUR // 2 - 1, 1),
        (True, None, HOUR // 2, 2),
        (True, None, HOUR * 5, 2),
        (True, 10, HOUR // 2 - 1, 1),
        (False, 300, 299, 1),
        (False, 300, 300, 2),
        (False, None, 10**9, 1),
    ],
)
async def test_values_are_renewed_at_half_of_their_life(
    ends: bool, reload_after: int | None, seconds_later: int, given: int
) -> None:
    sessions = Sessions(ends=ends)
    fresh = sessions.fresh(reload_after)
    await fresh.get()

    sessions.now += seconds_later

    assert (await fresh.get()).number == given
    assert sessions.given == given


@pytest.mark.parametrize(
    ("margin", "seconds_left", "given"),
    [(60, 61, 1), (60, 60, 2), (HOUR, HOUR // 5 + 1, 1), (HOUR, HOUR // 5, 2)],
)
async def test_with_a_margin_they_are_renewed_shortly_before_their_end(
    margin: int, seconds_left: int, given: int
) -> None:
    sessions = Sessions()
    fresh = sessions.fresh(margin=margin)
    await fresh.get()

    sessions.now += HOUR - seconds_left

    assert (await fresh.get()).number == given


async def test_of_a_refused_value_another_is_loaded_once_for_all() -> None:
    sessions = Sessions()
    fresh = sessions.fresh()
    refused = await fresh.get()

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(fresh.instead_of, refused)

    assert (await fresh.get()).number == sessions.given == 2


async def test_a_refused_value_is_not_given_instead_of_itself() -> None:
    sessions = Sessions()
    fresh = sessions.fresh()
    refused = await fresh.get()
    sessions.fails = True

    with pytest.raises(StorageError):
        await fresh.instead_of(refused)


async def test_many_that_ask_at_once_share_a_value() -> None:
    sessions = Sessions()
    fresh = sessions.fresh()

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(fresh.get)

    assert sessions.given == 1


async def test_the_old_value_serves_while_another_renews() -> None:
    sessions = Sessions()
    fresh = sessions.fresh()
    await fresh.get()
    sessions.now += HOUR * 0.75
    sessions.open = anyio.Event()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fresh.get)
        await anyio.wait_all_tasks_blocked()
        meanwhile = await fresh.get()
        sessions.open.set()

    assert meanwhile.number == 1
    assert (await fresh.get()).number == 2


async def test_nobody_gets_a_value_that_has_ended_while_another_renews() -> None:
    sessions = Sessions()
    fresh = sessions.fresh()
    await fresh.get()
    sessions.now += HOUR
    sessions.open = anyio.Event()
    got: list[int] = []

    async def ask() -> None:
        got.append((await fresh.get()).number)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        sessions.open.set()

    assert got == [2, 2]
    assert sessions.given == 2


async def test_a_failed_renewal_keeps_the_old_value_until_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sessions = Sessions()
    fresh = sessions.fresh()
    await fresh.get()
    sessions.fails = True

    sessions.now += HOUR * 0.75
    with caplog.at_level(logging.WARNING):
        assert (await fresh.get()).number == 1
    assert "sessions could not be renewed" in caplog.text

    sessions.now += HOUR
    with pytest.raises(StorageError):
        await fresh.get()

    sessions.fails = False
    assert (await fresh.get()).number == 2


@pytest.mark.parametrize(("seconds_later", "asked"), [(0, 2), (29, 2), (30, 3)])
async def test_a_failed_renewal_is_tried_again_after_half_a_minute(
    seconds_later: int, asked: int
) -> None:
    sessions = Sessions()
    fresh = sessions.fresh()
    await fresh.get()
    sessions.now += HOUR // 2
    sessions.fails = True
    await fresh.get()

    sessions.now += seconds_later
    await fresh.get()

    assert sessions.asked == asked


async def test_a_value_that_ended_before_the_next_attempt_is_not_given() -> None:
    sessions = Sessions()
    fresh = sessions.fresh()
    await fresh.get()
    sessions.now += HOUR - 10
    sessions.fails = True
    await fresh.get()

    sessions.now += 10

    with pytest.raises(StorageError):
        await fresh.get()


async def test_the_first_failure_is_an_error() -> None:
    sessions = Sessions()
    sessions.fails = True

    with pytest.raises(StorageError):
        await sessions.fresh().get()
