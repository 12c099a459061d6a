"""An asynchronous query that joins the lookup of another one has a complete record."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Any

import pytest
from support.clients.asgi import Answer
from support.gateways.audited import AuditedSite

from sluicegate.api.errors import Unavailable
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.query.async_queries import AsyncRuns

pytestmark = pytest.mark.asyncio(loop_scope="module")

_ASYNC = {"delta-sharing-capabilities": "responseformat=delta;asyncquery=true"}
_ALLOWED = "grant sales; policy names-1"


class Lookups:
    """Lookups of tables that wait until `opened`, and the queries that wait for them.

    Attributes:
        error: The error with which they end, or `None`.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.error: Exception | None = None
        self.opened = asyncio.Event()
        self._waiting: asyncio.Queue[None] = asyncio.Queue()
        wait, find, locate = AsyncRuns.wait, Resolver.table, Resolver.locate

        async def counted(runs: Any, key: Hashable, job: Any, *more: Any, **options: Any) -> Any:
            self._waiting.put_nowait(None)
            return await wait(runs, key, job, *more, **options)

        async def found(*arguments: Any) -> Any:
            self.count += 1
            return await find(*arguments)

        async def located(resolver: Resolver, shared: Any) -> Any:
            await self.opened.wait()
            if self.error is not None:
                raise self.error
            return await locate(resolver, shared)

        monkeypatch.setattr(AsyncRuns, "wait", counted)
        monkeypatch.setattr(Resolver, "table", found)
        monkeypatch.setattr(Resolver, "locate", located)

    async def waited(self) -> None:
        """Wait until one more query waits."""
        await self._waiting.get()


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> Lookups:
    return Lookups(monkeypatch)


async def _query(site: AuditedSite, key: str, table: str = "orders") -> Answer:
    return await site.send(
        "POST",
        f"/delta-sharing/shares/sales/schemas/eu/tables/{table}/query",
        {"idempotencyKey": key},
        token=site.tokens["acme"],
        headers=_ASYNC,
    )


async def _queries(site: AuditedSite, lookups: Lookups, table: str = "orders") -> list[Answer]:
    """The responses to two queries, of which the second joins the first one's lookup."""
    first = asyncio.create_task(_query(site, "a", table))
    await lookups.waited()
    second = asyncio.create_task(_query(site, "b", table))
    await lookups.waited()
    lookups.opened.set()
    return [await first, await second]


async def test_queries_that_share_a_lookup_have_the_same_rules(
    site: AuditedSite, lookups: Lookups
) -> None:
    answers = await _queries(site, lookups)
    assert lookups.count == 1
    assert [answer.status for answer in answers] == [200, 200]
    found = [(each.actor, each.resource, each.rule) for each in site.log.records]
    assert found == [("acme", "sales.eu.Orders", _ALLOWED)] * 2
    assert {each.issued["kind"] for each in site.log.records} == {"urls"}


async def test_a_partition_filter_is_named_by_each_query(site: AuditedSite, lookups: Lookups) -> None:
    await _queries(site, lookups, "german")
    assert lookups.count == 1
    # A set: the policy is decided on after the table is found.
    assert [{*(each.rule or "").split("; ")} for each in site.log.records] == [
        {"grant sales", "policy names-1", "partition filter"}
    ] * 2


async def test_queries_that_stop_waiting_name_what_decided_so_far(
    site: AuditedSite, lookups: Lookups
) -> None:
    answers = [await _query(site, key) for key in ("a", "b")]
    lookups.opened.set()
    assert lookups.count == 1
    assert all(b'"pending"' in answer.body for answer in answers)
    found = [(each.resource, each.rule, each.issued) for each in site.log.records]
    assert found == [("sales.eu.Orders", _ALLOWED, {})] * 2


async def test_a_failure_is_about_the_same_table(site: AuditedSite, lookups: Lookups) -> None:
    lookups.error = Unavailable("the catalog does not respond")
    answers = await _queries(site, lookups)
    assert lookups.count == 1
    assert [answer.status for answer in answers] == [503, 503]
    found = [(each.resource, each.outcome) for each in site.log.records]
    assert found == [("sales.eu.Orders", "failed")] * 2
