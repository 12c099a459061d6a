"""A policy with one mistake in each suite; `caught_by` names the check that must find it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest
from testing.broken_plugins.upstream import Client, inventory

from sluicegate.api import Policy, PolicyAction, Principal, SharedTable, Unavailable
from sluicegate_testing.policies import Decision, PolicyBehaviour

Tables = frozenset[SharedTable]

INSIDE = Principal("1", "acme", "bearer", properties={"region": "eu"})
OUTSIDE = Principal("2", "umbrella", "bearer", properties={"region": "us"})
EU = frozenset(SharedTable(f"{n}", "sales", "s", "eu", f"t{n}", "lake", f"eu.t{n}") for n in range(3))
US = frozenset(SharedTable(f"u{n}", "sales", "s", "us", f"t{n}", "lake", f"us.t{n}") for n in range(3))


class Regions(Policy):
    """A correct policy: a server says which schemas recipients of other regions do not see."""

    def __init__(self, url: str) -> None:
        self._client = Client(url)

    async def allowed(self, principal: Principal, action: PolicyAction, tables: Tables) -> Tables:
        hidden = await self.hidden()
        region = principal.properties.get("region")
        return frozenset(
            table for table in tables if table.schema not in hidden or table.schema == region
        )

    async def hidden(self) -> Sequence[str]:
        hidden: Sequence[str] = (await self._client.get("/regions"))["hidden"]
        return hidden

    async def aclose(self) -> None:
        await self._client.aclose()


class TestRegions(PolicyBehaviour):
    """The correct one passes all checks."""

    caught_by: ClassVar[str | None] = None
    kind: ClassVar[type[Regions]] = Regions

    @pytest.fixture
    def url(self) -> Iterator[str]:
        with inventory() as url:
            yield url

    @pytest.fixture
    def policy(self, url: str) -> Policy:
        return self.kind(url)

    @pytest.fixture
    def failing(self, failing_servers: Mapping[str, str]) -> Mapping[str, Policy]:
        return {how: self.kind(url) for how, url in failing_servers.items()}

    @pytest.fixture
    def decisions(self) -> Sequence[Decision]:
        return [
            Decision(INSIDE, "read", EU | US, EU | US),
            Decision(OUTSIDE, "read", EU | US, US),
            Decision(OUTSIDE, "vend", EU, frozenset()),
        ]


class AllowsEverybody(Regions):
    async def allowed(self, principal: Principal, action: PolicyAction, tables: Tables) -> Tables:
        await self.hidden()
        return tables


class TestAllowsEverybody(TestRegions):
    caught_by = "test_it_decides_as_expected"
    kind = AllowsEverybody


class AddsTables(Regions):
    async def allowed(self, principal: Principal, action: PolicyAction, tables: Tables) -> Tables:
        return await super().allowed(principal, action, EU | US)


class TestAddsTables(TestRegions):
    caught_by = "test_it_never_adds_a_table"
    kind = AddsTables


class RemembersByName(Regions):
    seen: ClassVar[dict[str, SharedTable]] = {}

    async def allowed(self, principal: Principal, action: PolicyAction, tables: Tables) -> Tables:
        allowed = await super().allowed(principal, action, tables)
        return frozenset(self.seen.setdefault(table.full_name, table) for table in allowed)


class TestRemembersByName(TestRegions):
    caught_by = "test_a_table_of_the_same_name_is_another_table"
    kind = RemembersByName


class AllOrNothing(Regions):
    async def allowed(self, principal: Principal, action: PolicyAction, tables: Tables) -> Tables:
        allowed = await super().allowed(principal, action, tables)
        return allowed if allowed == tables else frozenset()


class TestAllOrNothing(TestRegions):
    caught_by = "test_it_decides_a_set_like_its_tables_one_by_one"
    kind = AllOrNothing


class DecidesOnlyTheFirstBatch(Regions):
    async def allowed(self, principal: Principal, action: PolicyAction, tables: Tables) -> Tables:
        batch = sorted(tables, key=lambda table: (len(table.id), table.id))[:500]
        return await super().allowed(principal, action, frozenset(batch))


class TestDecidesOnlyTheFirstBatch(TestRegions):
    caught_by = "test_many_tables_are_decided_like_single_ones"
    kind = DecidesOnlyTheFirstBatch


class ExpectsOnlyTables(Regions):
    async def allowed(self, principal: Principal, action: PolicyAction, tables: Tables) -> Tables:
        if any(type(table) is not SharedTable for table in tables):
            await self.hidden()
            return frozenset()
        return await super().allowed(principal, action, tables)


class TestExpectsOnlyTables(TestRegions):
    caught_by = "test_assets_are_decided"
    kind = ExpectsOnlyTables


class RemembersTheLastRecipient(Regions):
    last: Principal | None = None

    async def allowed(self, principal: Principal, action: PolicyAction, tables: Tables) -> Tables:
        self.last = principal
        await self.hidden()
        return await super().allowed(self.last, action, tables)


class TestRemembersTheLastRecipient(TestRegions):
    caught_by = "test_decisions_do_not_depend_on_others"
    kind = RemembersTheLastRecipient


class Sleeps(Regions):
    async def hidden(self) -> Sequence[str]:
        time.sleep(0.001)  # noqa: ASYNC251 - the mistake
        return await super().hidden()


class TestSleeps(TestRegions):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = Sleeps


class RaisesAsItsLibrary(Regions):
    async def hidden(self) -> Sequence[str]:
        try:
            return await super().hidden()
        except Unavailable as error:
            raise KeyError("hidden") from error


class TestRaisesAsItsLibrary(TestRegions):
    caught_by = "test_errors_are_those_of_the_api"
    kind = RaisesAsItsLibrary


class AllowsInAnOutage(Regions):
    async def hidden(self) -> Sequence[str]:
        try:
            return await super().hidden()
        except Unavailable:
            return []


class TestAllowsInAnOutage(TestRegions):
    caught_by = "test_an_outage_is_unavailable"
    kind = AllowsInAnOutage


class SecretInTheMessage(Regions):
    async def hidden(self) -> Sequence[str]:
        try:
            return await super().hidden()
        except Unavailable as error:
            token = self._client.token.get_secret_value()
            raise Unavailable(f"no regions for {token}") from error


class TestSecretInTheMessage(TestRegions):
    caught_by = "test_errors_hide_secrets"
    kind = SecretInTheMessage
