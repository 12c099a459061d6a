"""Places of requests: taken in turn, for a while, and always left."""

from __future__ import annotations

import asyncio

import pytest

from sluicegate.api.errors import RateLimited, Unavailable
from sluicegate.http.concurrency_limit import ConcurrencyLimit, RequestSlots
from sluicegate.http.limits import ConcurrencyLimits

PATIENT = ConcurrencyLimits(
    max_requests=1, max_requests_per_recipient=1, max_requests_per_address=1, queue_timeout=60
)
HASTY = ConcurrencyLimits(
    max_requests=1, max_requests_per_recipient=1, max_requests_per_address=1, queue_timeout=0
)

PATIENT_AND_WIDE = ConcurrencyLimits(queue_timeout=60)


async def test_who_waits_is_served_in_turn() -> None:
    limit, order = ConcurrencyLimit(PATIENT), []

    async def serve(number: int) -> None:
        slots = await limit.enter_all()
        order.append(number)
        await asyncio.sleep(0)
        slots.leave()

    await asyncio.gather(serve(1), serve(2))
    await asyncio.gather(serve(3), serve(4))
    assert order == [1, 2, 3, 4]


async def test_no_more_may_wait_than_may_be_served() -> None:
    limit = ConcurrencyLimit(PATIENT)
    slots = await limit.enter_recipient("acme")
    waiting = asyncio.create_task(limit.enter_recipient("acme"))
    await asyncio.sleep(0)
    with pytest.raises(RateLimited, match="1 concurrent requests"):
        await limit.enter_recipient("acme")
    await limit.enter_recipient("rival")
    slots.leave()
    await waiting


async def test_who_waits_too_long_is_refused_and_takes_no_place() -> None:
    limit = ConcurrencyLimit(HASTY)
    slots = await limit.enter_all()
    with pytest.raises(Unavailable, match="too many concurrent requests"):
        await limit.enter_all()
    slots.leave()
    await limit.enter_all()


async def test_a_place_that_comes_with_a_cancellation_is_passed_on() -> None:
    limit = ConcurrencyLimit(PATIENT)
    slots = await limit.enter_all()
    cancelled = asyncio.create_task(limit.enter_all())
    await asyncio.sleep(0)
    slots.leave()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    await asyncio.wait_for(limit.enter_all(), 10)


async def test_an_address_is_counted_until_its_requests_leave() -> None:
    limit = ConcurrencyLimit(PATIENT)
    limit.arrive("192.0.2.7")
    limit.arrive("192.0.2.8")
    with pytest.raises(RateLimited, match="your address"):
        limit.arrive("192.0.2.7")
    limit.leave_address("192.0.2.7")
    limit.arrive("192.0.2.7")


async def test_a_request_that_is_authenticated_twice_has_one_place() -> None:
    limit = ConcurrencyLimit(HASTY)
    for _ in range(3):
        slots = RequestSlots(limit, "192.0.2.1")
        assert slots.enter_now("acme")
        assert slots.enter_now("acme")
        assert slots.enter_now("rival")
        slots.leave()


async def test_a_place_for_which_a_request_has_waited_counts_once_too() -> None:
    limit = ConcurrencyLimit(PATIENT)
    first = RequestSlots(limit, "192.0.2.1")
    assert first.enter_now("acme")
    second = RequestSlots(limit, "192.0.2.1")
    assert not second.enter_now("acme")
    waiting = asyncio.create_task(second.enter("acme"))
    await asyncio.sleep(0)
    first.leave()
    await waiting
    assert second.enter_now("acme")
    second.leave()
    assert RequestSlots(limit, "192.0.2.1").enter_now("acme")


class Gate:
    """Recipients with limits of their own."""

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes
        self.admitted: list[str] = []

    def admit(self, recipient: str) -> int | None:
        self.admitted.append(recipient)
        return self.sizes.get(recipient)


async def test_a_recipient_can_have_a_number_of_requests_of_its_own() -> None:
    gate = Gate(acme=2)
    limit = ConcurrencyLimit(
        ConcurrencyLimits(max_requests_per_recipient=1, queue_timeout=0), gate=gate
    )

    async def entered(recipient: str) -> RequestSlots:
        slots = RequestSlots(limit, "192.0.2.1")
        if not slots.enter_now(recipient):
            await slots.enter(recipient)
        return slots

    first = await entered("acme")
    await entered("acme")
    await entered("rival")
    for recipient, number in (("acme", 2), ("rival", 1)):
        with pytest.raises(RateLimited, match=f"has {number} concurrent requests already"):
            await entered(recipient)
    first.leave()
    gate.sizes["acme"] = 1
    with pytest.raises(RateLimited, match="has 1 concurrent requests already"):
        await entered("acme")


async def test_a_lowered_number_of_requests_is_reached_before_others_enter() -> None:
    gate = Gate(acme=3)
    limit = ConcurrencyLimit(PATIENT_AND_WIDE, gate=gate)
    inside = []
    for _ in range(3):
        inside.append(RequestSlots(limit, "192.0.2.1"))
        assert inside[-1].enter_now("acme")
    gate.sizes["acme"] = 1
    late = RequestSlots(limit, "192.0.2.1")
    assert not late.enter_now("acme")
    waiting = asyncio.create_task(late.enter("acme"))
    for slots in inside:
        await asyncio.sleep(0)
        assert not waiting.done()
        slots.leave()
    await asyncio.wait_for(waiting, 10)


async def test_a_request_that_is_authenticated_twice_passes_the_gate_once() -> None:
    gate = Gate()
    slots = RequestSlots(ConcurrencyLimit(PATIENT, gate=gate), "192.0.2.1")
    assert slots.enter_now("acme")
    assert slots.enter_now("acme")
    assert gate.admitted == ["acme"]
