"""Gateways share the use of recipients through their database, and apply changed limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import update
from support.process.clock import Clock

from sluicegate.access.limits.assembly import LimitSync
from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.access.limits.rows import RETENTION_DAYS, load_use
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import RateLimited, Unavailable
from sluicegate.config.sections.limits import RecipientLimitSettings
from sluicegate.database import Store
from sluicegate.database.tables import daily_usage

from ..conftest import Apply

DAY = 86_400
NEVER = 1e9


@pytest.fixture
def seconds() -> Clock:
    """Seconds since the epoch."""
    return Clock(20_000 * DAY)


Started = tuple[RecipientLimiter, LimitSync]


@pytest.fixture
def make(store: Store, seconds: Clock) -> Callable[..., Started]:
    """Start the limits of a gateway on the database that all of them share."""

    def made(*, files: int | None = 10, interval: float = NEVER) -> Started:
        settings = RecipientLimitSettings(files_per_day=files)
        limiter = RecipientLimiter(settings, wall_clock=seconds)
        return limiter, LimitSync(store, limiter, interval=interval)

    return made


async def used(store: Store, day: int = 20_000) -> dict[str, tuple[int, int]]:
    async with store.read() as connection:
        found = await load_use(connection, day)
    return {recipient: (amount.files, amount.bytes) for recipient, amount in found.items()}


async def test_two_gateways_share_a_quota(make: Callable[..., Started], store: Store) -> None:
    (one, sync_one), (two, sync_two) = make(), make()
    async with sync_one.running(), sync_two.running():
        one.offer("acme", None, 6, 600)
        two.offer("acme", None, 3, 300)
        await sync_one.exchange()
        await sync_two.exchange()
        with pytest.raises(RateLimited, match="it got 9 today"):
            two.offer("acme", None, 2, 200)
        await sync_one.exchange()
        with pytest.raises(RateLimited, match="it got 9 today"):
            one.offer("acme", None, 2, 200)
        one.offer("acme", None, 1, 100)
    assert await used(store) == {"acme": (10, 1000)}


async def test_what_is_offered_is_exchanged_in_the_background(
    make: Callable[..., Started], store: Store
) -> None:
    limiter, sync = make(interval=0.001)
    async with sync.running():
        for number in range(1, 4):
            limiter.offer("acme", None, 1, 1)
            while await used(store) != {"acme": (number, number)}:  # noqa: ASYNC110 # no event
                await asyncio.sleep(0.001)


async def test_use_that_others_write_slowly_is_found(
    make: Callable[..., Started], store: Store, seconds: Clock
) -> None:
    (one, sync_one), (two, sync_two) = make(), make()
    async with sync_one.running(), sync_two.running():
        for number in range(1, 4):
            one.offer("acme", None, 1, 1)
            one.offer("other", None, 1, 1)
            await sync_one.exchange()
            await sync_two.exchange()
            assert two.use.of("acme", two.today).files == number
        async with store.append() as connection:
            await connection.execute(update(daily_usage).values(files=9, written_at=0))
        await sync_two.exchange()
        assert two.use.of("acme", two.today).files == 3  # nothing was written lately
        seconds.advance(DAY)
        await sync_two.exchange()
        seconds.advance(-DAY)
        await sync_two.exchange()
        assert two.use.of("acme", two.today).files == 9  # a day is read completely at first


async def test_a_gateway_that_starts_again_knows_the_days_use(
    make: Callable[..., Started], store: Store
) -> None:
    limiter, sync = make()
    async with sync.running():
        limiter.offer("acme", None, 10, 1)
    again, sync = make()
    async with sync.running():
        with pytest.raises(RateLimited):
            again.offer("acme", None, 1, 1)


async def test_use_that_cannot_be_written_is_counted_and_written_later_once(
    make: Callable[..., Started], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    limiter, sync = make()

    @asynccontextmanager
    async def broken() -> Any:
        raise Unavailable("the gateway's database does not respond")
        yield

    async with sync.running():
        limiter.offer("acme", None, 4, 4)
        with monkeypatch.context() as patch:
            patch.setattr(store, "append", broken)
            with pytest.raises(Unavailable):
                await sync.exchange()
        assert limiter.use.of("acme", limiter.today).files == 4
        limiter.offer("acme", None, 1, 1)
        await sync.exchange()
        await sync.exchange()
        assert limiter.use.of("acme", limiter.today).files == 5
    assert await used(store) == {"acme": (5, 5)}


async def test_what_is_offered_while_it_is_written_is_not_lost(
    make: Callable[..., Started], store: Store
) -> None:
    limiter, sync = make()
    async with sync.running():
        limiter.offer("acme", None, 1, 1)
        limiter.use.begin_write()
        limiter.offer("acme", None, 2, 2)
        assert limiter.use.of("acme", limiter.today).files == 3
        limiter.use.written()
        assert limiter.use.of("acme", limiter.today).files == 3


async def test_days_are_counted_apart_and_old_ones_are_deleted(
    make: Callable[..., Started], store: Store, seconds: Clock
) -> None:
    limiter, sync = make()
    async with sync.running():
        limiter.offer("acme", None, 10, 1)
        seconds.advance(DAY)
        limiter.offer("acme", None, 3, 1)
        await sync.exchange()
        assert (await used(store), await used(store, 20_001)) == ({"acme": (10, 1)}, {"acme": (3, 1)})
        seconds.advance(RETENTION_DAYS * DAY)
        limiter.offer("acme", None, 1, 1)
    assert (await used(store), await used(store, 20_001)) == ({}, {"acme": (3, 1)})


LIMITED = "recipients: {acme: {limits: {files_per_day: %d}}, rival: {}}"


async def test_changed_limits_apply_and_removed_ones_end(
    make: Callable[..., Started], store: Store, apply: Apply, recipients: Recipients
) -> None:
    limiter, sync = make(files=None)
    await apply(LIMITED % 5)
    ids = {each.name: each.id for each in await recipients.list()}
    async with sync.running():
        assert limiter.counts_offers(ids["acme"])
        assert not limiter.counts_offers(ids["rival"])
        assert await apply(LIMITED % 7) == ["~ recipient acme", "    limits.files_per_day: 5 → 7"]
        sync.changed()
        while True:
            try:
                limiter.offer(ids["acme"], None, 7, 1)
                break
            except RateLimited:
                await asyncio.sleep(0.001)
        await apply("recipients: {acme: {}, rival: {}}")
        sync.changed()
        while limiter.counts_offers(ids["acme"]):  # noqa: ASYNC110 # no event
            await asyncio.sleep(0.001)


async def test_a_renamed_recipient_keeps_its_use_and_a_new_one_has_none(
    make: Callable[..., Started], store: Store, apply: Apply, recipients: Recipients
) -> None:
    limiter, sync = make(files=None)
    await apply(LIMITED % 5)
    [before] = [each.id for each in await recipients.list() if each.name == "acme"]
    async with sync.running():
        limiter.offer(before, None, 5, 1)
        await apply("recipients: {ACME: {limits: {files_per_day: 5}}, rival: {}}")
        [renamed] = [each.id for each in await recipients.list() if each.name == "ACME"]
        with pytest.raises(RateLimited):
            limiter.offer(renamed, None, 1, 1)
        await apply("recipients: {rival: {}}", prune=True)
    assert await used(store) == {before: (5, 1)}
    await apply(LIMITED % 5)
    [created] = [each.id for each in await recipients.list() if each.name == "acme"]
    again, sync = make(files=None)
    async with sync.running():
        again.offer(created, None, 5, 1)
