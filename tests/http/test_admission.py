"""Places of requests: taken in turn, for a while, and always left."""

from __future__ import annotations

import asyncio

import pytest

from sluicegate.errors import RateLimited, Unavailable
from sluicegate.http.admission import Admission
from sluicegate.http.limits import AdmissionLimits

PATIENT = AdmissionLimits(
    max_requests=1, max_requests_per_recipient=1, max_requests_per_address=1, queue_timeout=60
)
HASTY = AdmissionLimits(
    max_requests=1, max_requests_per_recipient=1, max_requests_per_address=1, queue_timeout=0
)


async def test_who_waits_is_served_in_turn() -> None:
    admission, order = Admission(PATIENT), []

    async def serve(number: int) -> None:
        gate = await admission.enter_all()
        order.append(number)
        await asyncio.sleep(0)
        gate.leave()

    await asyncio.gather(serve(1), serve(2))
    await asyncio.gather(serve(3), serve(4))
    assert order == [1, 2, 3, 4]


async def test_no_more_may_wait_than_may_be_served() -> None:
    admission = Admission(PATIENT)
    gate = await admission.enter_recipient("acme")
    waiting = asyncio.create_task(admission.enter_recipient("acme"))
    await asyncio.sleep(0)
    with pytest.raises(RateLimited, match="1 requests under way"):
        await admission.enter_recipient("acme")
    await admission.enter_recipient("rival")
    gate.leave()
    await waiting


async def test_who_waits_too_long_is_refused_and_takes_no_place() -> None:
    admission = Admission(HASTY)
    gate = await admission.enter_all()
    with pytest.raises(Unavailable, match="as many requests as it can"):
        await admission.enter_all()
    gate.leave()
    await admission.enter_all()


async def test_a_place_that_comes_with_a_cancellation_is_passed_on() -> None:
    admission = Admission(PATIENT)
    gate = await admission.enter_all()
    cancelled = asyncio.create_task(admission.enter_all())
    await asyncio.sleep(0)
    gate.leave()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    await asyncio.wait_for(admission.enter_all(), 10)


async def test_an_address_is_counted_until_its_requests_leave() -> None:
    admission = Admission(PATIENT)
    admission.arrive("192.0.2.7")
    admission.arrive("192.0.2.8")
    with pytest.raises(RateLimited, match="your address"):
        admission.arrive("192.0.2.7")
    admission.leave_address("192.0.2.7")
    admission.arrive("192.0.2.7")
