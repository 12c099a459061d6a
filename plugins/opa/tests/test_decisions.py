from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from sluicegate.api import Principal, SharedTable, Unavailable
from sluicegate_opa.documents import Subject
from sluicegate_opa.policy import Decisions

TABLES = [SharedTable(f"{n}", "sales", "s", "eu", f"t{n}", "lake", f"eu.t{n}") for n in range(6)]
ACME = Subject.of(Principal("1", "acme", "bearer"), "read")
OTHER = Subject.of(Principal("2", "other", "bearer"), "read")


class Server:
    """Allows tables with even numbers, when `release` is set, and records batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[str]]] = []
        self.release = asyncio.Event()
        self.release.set()
        self.fails = False
        self.now = 100.0

    async def decide(self, subject: Subject, tables: Sequence[SharedTable]) -> frozenset[SharedTable]:
        self.batches.append((subject.name, [table.id for table in tables]))
        await self.release.wait()
        if self.fails:
            raise Unavailable("down")
        return frozenset(table for table in tables if not int(table.id) % 2)

    def decisions(self, *, max_age: float = 5, size: int = 100, batch_size: int = 100) -> Decisions:
        return Decisions(
            self.decide, max_age=max_age, size=size, batch_size=batch_size, clock=lambda: self.now
        )

    @property
    def asked(self) -> list[str]:
        return sorted(id for _, batch in self.batches for id in batch)


@pytest.fixture
async def server() -> Server:
    return Server()


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - the loop is polled, not a clock
        await asyncio.sleep(0)


async def test_large_sets_are_decided_in_batches(server: Server) -> None:
    found = await server.decisions(batch_size=4).allowed(ACME, TABLES)
    assert found == {TABLES[0], TABLES[2], TABLES[4]}
    assert [len(batch) for _, batch in server.batches] == [4, 2]


async def test_decisions_are_used_until_they_are_too_old(server: Server) -> None:
    decisions = server.decisions(max_age=5)
    assert await decisions.allowed(ACME, TABLES[:2]) == {TABLES[0]}
    server.now += 4.9
    assert await decisions.allowed(ACME, TABLES[:4]) == {TABLES[0], TABLES[2]}
    assert server.asked == ["0", "1", "2", "3"]
    server.now += 0.1
    assert await decisions.allowed(ACME, TABLES[:4]) == {TABLES[0], TABLES[2]}
    assert server.asked == ["0", "0", "1", "1", "2", "3"]


async def test_decisions_are_those_of_one_recipient(server: Server) -> None:
    decisions = server.decisions()
    for subject in (ACME, OTHER, ACME):
        await decisions.allowed(subject, TABLES[:1])
    assert server.batches == [("acme", ["0"]), ("other", ["0"])]


async def test_the_age_of_a_decision_begins_with_its_request(server: Server) -> None:
    decisions = server.decisions(max_age=5)
    server.release.clear()
    first = asyncio.create_task(decisions.allowed(ACME, TABLES[:1]))
    await until(lambda: server.batches)
    server.now += 5
    server.release.set()
    await first
    await decisions.allowed(ACME, TABLES[:1])
    assert server.asked == ["0", "0"]


async def test_the_least_recently_used_decisions_are_discarded(server: Server) -> None:
    decisions = server.decisions(size=2)
    for table in (0, 1, 0, 2):
        await decisions.allowed(ACME, [TABLES[table]])
    assert server.asked == ["0", "1", "2"]
    await decisions.allowed(ACME, [TABLES[0], TABLES[2]])
    assert server.asked == ["0", "1", "2"]
    await decisions.allowed(ACME, [TABLES[1]])
    assert server.asked == ["0", "1", "1", "2"]


@pytest.mark.parametrize(("settings", "requests"), [({"max_age": 0}, 2), ({"size": 0}, 1)])
async def test_concurrent_calls_share_a_request_unless_decisions_must_be_new(
    server: Server, settings: dict[str, int], requests: int
) -> None:
    decisions = server.decisions(**settings)
    server.release.clear()
    calls = [asyncio.create_task(decisions.allowed(ACME, TABLES[:2])) for _ in range(2)]
    await until(lambda: len(server.batches) == requests)
    server.release.set()
    assert await asyncio.gather(*calls) == [{TABLES[0]}, {TABLES[0]}]
    assert len(server.batches) == requests
    await decisions.allowed(ACME, TABLES[:2])
    assert len(server.batches) == requests + 1


async def test_overlapping_calls_request_only_what_is_missing(server: Server) -> None:
    decisions = server.decisions()
    server.release.clear()
    first = asyncio.create_task(decisions.allowed(ACME, TABLES[:3]))
    await until(lambda: server.batches)
    second = asyncio.create_task(decisions.allowed(ACME, TABLES[2:]))
    await until(lambda: len(server.batches) == 2)
    server.release.set()
    assert await first == {TABLES[0], TABLES[2]}
    assert await second == {TABLES[2], TABLES[4]}
    assert server.asked == ["0", "1", "2", "3", "4", "5"]


async def test_a_caller_that_goes_away_does_not_end_the_request_of_others(server: Server) -> None:
    decisions = server.decisions()
    server.release.clear()
    first = asyncio.create_task(decisions.allowed(ACME, TABLES[:1]))
    await until(lambda: server.batches)
    second = asyncio.create_task(decisions.allowed(ACME, TABLES[:1]))
    await asyncio.sleep(0)
    first.cancel()
    server.release.set()
    assert await second == {TABLES[0]}
    assert first.cancelled()
    assert server.asked == ["0"]


async def test_failures_reach_every_caller_and_are_not_cached(server: Server) -> None:
    decisions = server.decisions()
    server.release.clear()
    server.fails = True
    calls = [asyncio.create_task(decisions.allowed(ACME, TABLES[:1])) for _ in range(2)]
    await until(lambda: server.batches)
    server.release.set()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(each) for each in found] == [Unavailable, Unavailable]
    server.fails = False
    assert await decisions.allowed(ACME, TABLES[:1]) == {TABLES[0]}


async def test_one_failed_batch_denies_the_set(server: Server) -> None:
    decisions = server.decisions(batch_size=1)
    assert await decisions.allowed(ACME, TABLES[:1]) == {TABLES[0]}
    server.fails = True
    with pytest.raises(Unavailable):
        await decisions.allowed(ACME, TABLES)


async def test_closing_ends_requests_that_are_under_way(server: Server) -> None:
    decisions = server.decisions()
    server.release.clear()
    call = asyncio.create_task(decisions.allowed(ACME, TABLES[:1]))
    await until(lambda: server.batches)
    await decisions.aclose()
    with pytest.raises(asyncio.CancelledError):
        await call
