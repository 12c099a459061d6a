"""Tests for every policy. Inherit the suite in the tests of your plugin.

class TestMyPolicy(PolicyBehaviour):
    @pytest.fixture
    def policy(self) -> Policy: ...
    @pytest.fixture
    def decisions(self) -> Sequence[Decision]: ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle

import pytest
import pytest_asyncio

from sluicegate.api import (
    ASSET_KINDS,
    AssetKind,
    Policy,
    PolicyAction,
    Principal,
    SharedAsset,
    SharedTable,
)
from sluicegate_testing.checks.behaviour import InstanceBehaviour, MakeCalls
from sluicegate_testing.checks.failures import Calls

Tables = frozenset[SharedTable]

MANY = 2000


@dataclass(frozen=True)
class Decision:
    """An expected decision of the policy under test.

    Attributes:
        tables: The tables in the request.
        allowed: The tables on which the principal is allowed to perform the action.
    """

    principal: Principal
    action: PolicyAction
    tables: Tables
    allowed: Tables


@pytest.mark.asyncio
class PolicyBehaviour(InstanceBehaviour):
    """Inherit it as `Test…`, and provide the fixtures `policy`, `decisions` and `failing`."""

    @pytest.fixture
    def policy(self) -> Policy:
        """The policy under test; the suite closes it."""
        raise NotImplementedError("provide a fixture 'policy'")

    @pytest.fixture
    def decisions(self) -> Sequence[Decision]:
        """Decisions about both actions. Some of them must deny tables, others none."""
        raise NotImplementedError(
            "provide a fixture 'decisions': Decision(principal, action, tables, …)"
        )

    @pytest_asyncio.fixture
    async def subject(self, policy: Policy) -> AsyncIterator[Policy]:
        """The policy, closed at the end."""
        yield policy
        await policy.aclose()

    @pytest.fixture
    def calls(self, decisions: Sequence[Decision]) -> MakeCalls:
        """All decisions."""

        def calls(policy: Policy) -> Calls:
            return {
                f"allowed for decision {number}": partial(_decided, policy, made)
                for number, made in enumerate(decisions)
            }

        return calls

    async def test_it_decides_as_expected(self, subject: Policy, decisions: Sequence[Decision]) -> None:
        assert {made.action for made in decisions} == {"read", "vend"}, "'decisions' needs both actions"
        assert any(made.allowed < made.tables for made in decisions), "'decisions' needs a refusal"
        assert any(made.allowed for made in decisions), "'decisions' needs a table that is allowed"
        decided = [await _decided(subject, made) for made in decisions]
        assert decided == [made.allowed for made in decisions]

    async def test_it_returns_frozen_sets(self, subject: Policy, decisions: Sequence[Decision]) -> None:
        assert all([isinstance(await _decided(subject, made), frozenset) for made in decisions])

    async def test_it_decides_a_set_like_its_tables_one_by_one(
        self, subject: Policy, decisions: Sequence[Decision]
    ) -> None:
        for made in decisions:
            alone = [
                await _decided(subject, replace(made, tables=frozenset({table})))
                for table in made.tables
            ]
            assert frozenset().union(*alone) == await _decided(subject, made)

    async def test_it_never_adds_a_table(self, subject: Policy, decisions: Sequence[Decision]) -> None:
        for made in decisions:
            for table in made.tables:
                fewer = made.tables - {table}
                assert await _decided(subject, replace(made, tables=fewer)) <= fewer
            assert await _decided(subject, replace(made, tables=frozenset())) == frozenset()

    async def test_decisions_do_not_depend_on_others(
        self, subject: Policy, decisions: Sequence[Decision]
    ) -> None:
        """Earlier or concurrent decisions about other principals and tables have no effect."""
        some = [*decisions, *reversed(decisions)] * 8
        decided = await asyncio.gather(*(_decided(subject, made) for made in some))
        assert decided == [made.allowed for made in some]

    async def test_a_table_of_the_same_name_is_another_table(
        self, subject: Policy, decisions: Sequence[Decision]
    ) -> None:
        """Responses contain only tables of the request, even if others have the same names."""
        for made in decisions:
            await _decided(subject, made)
            others = frozenset(replace(table, id=f"other {table.id}") for table in made.tables)
            assert await _decided(subject, replace(made, tables=others)) <= others

    async def test_thousands_of_tables_are_decided_at_once(
        self, subject: Policy, decisions: Sequence[Decision]
    ) -> None:
        made = decisions[0]
        pattern = next(iter(made.tables))
        tables = frozenset(replace(pattern, id=f"{n}", name=f"t{n}") for n in range(MANY))
        assert await _decided(subject, replace(made, tables=tables)) <= tables

    async def test_many_tables_are_decided_like_single_ones(
        self, subject: Policy, decisions: Sequence[Decision]
    ) -> None:
        """Batches of a policy, and parts of a response that is too long, change no decision."""
        made = max(decisions, key=lambda each: min(len(each.allowed), len(each.tables - each.allowed)))
        patterns = cycle(sorted(made.tables, key=lambda table: table.full_name))
        tables = [replace(next(patterns), id=f"many {n}") for n in range(MANY)]
        decided = await _decided(subject, replace(made, tables=frozenset(tables)))
        some = [*tables[: MANY // 4 : 41], *tables[-len(made.tables) :]]
        alone = [await _decided(subject, replace(made, tables=frozenset({table}))) for table in some]
        assert frozenset().union(*alone) == decided.intersection(some)

    async def test_assets_are_decided(self, subject: Policy, decisions: Sequence[Decision]) -> None:
        """Policies are called with tables and other assets, each with its kind."""
        for made in decisions:
            assets = frozenset(_asset(table, kind) for table in made.tables for kind in ASSET_KINDS)
            decided = await _decided(subject, replace(made, tables=assets | made.tables))
            assert decided <= assets | made.tables
            assert decided & made.tables == made.allowed, "assets change decisions about tables"


def _asset(table: SharedTable, kind: AssetKind) -> SharedAsset:
    named = (table.id, table.share, table.share_id, table.schema, table.name, table.catalog)
    return SharedAsset(*named, table.identifier, kind=kind)


async def _decided(policy: Policy, made: Decision) -> Tables:
    return await policy.allowed(made.principal, made.action, made.tables)
