"""The conformance tests of policies, and decisions of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from sluicegate.api import Policy, Principal, SharedAsset, SharedTable, Unavailable
from sluicegate_opa.config import OpaConfig
from sluicegate_opa.plugin import sluicegate_register_policies
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.policies import Decision, PolicyBehaviour

from .conftest import Connected
from .stand_in import TOKEN, WRONG


def tables(region: str) -> frozenset[SharedTable]:
    tags = {"region": region}
    names = [f"{region}.t{number}" for number in range(3)]
    return frozenset(
        SharedTable(name, "sales", "s", region, name[3:], "lake", name, tags=tags) for name in names
    )


EU, US = tables("eu"), tables("us")
FILES = frozenset(
    {
        SharedAsset("v1", "sales", "s", "eu", "t1", "lake", "eu.t1", tags={"region": "eu"}),
        SharedAsset("v2", "sales", "s", "eu", "t2", "lake", "eu.t2"),
    }
)
ACME = Principal("1", "acme", "bearer", "192.0.2.1", {"region": "eu"})
PARTNER = Principal("2", "umbrella", "bearer", properties={"tier": "partner"})
STRANGER = Principal("3", "nobody", "bearer")


class TestOpa(PolicyBehaviour):
    """The example of the README decides."""

    @pytest.fixture
    def policy(self, connected: Connected) -> Policy:
        return connected()

    @pytest.fixture
    def failing(self, failing_servers: Mapping[str, str]) -> Mapping[str, Policy]:
        (known,) = sluicegate_register_policies()
        return {
            how: known.factory(OpaConfig.model_validate({"url": url, "token": TOKEN}), FakeContext())
            for how, url in failing_servers.items()
        }

    @pytest.fixture
    def decisions(self) -> Sequence[Decision]:
        return [
            Decision(ACME, "read", EU | US | FILES, EU | {each for each in FILES if each.tags}),
            Decision(ACME, "vend", EU | US, EU),
            Decision(PARTNER, "read", EU | US, EU | US),
            Decision(PARTNER, "vend", EU | US, frozenset()),
            Decision(STRANGER, "read", EU, frozenset()),
        ]


@pytest.mark.parametrize("rule", [*sorted(WRONG), "nothing", "conflict"])
async def test_a_value_that_is_no_decision_allows_nothing(connected: Connected, rule: str) -> None:
    policy = connected(path=f"wrong/{rule}")
    with pytest.raises(Unavailable) as raised:
        await policy.allowed(ACME, "read", frozenset(list(EU)[:2]))
    assert raised.value.detail is not None
    assert raised.value.detail.startswith(f"data.wrong.{rule}: ")
    assert "127.0.0.1" not in raised.value.message


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"path": "sluicegate/alow"}, "the rule is undefined: load its policy into the server, or"),
        ({"path": "wrong/boolean"}, "the rule's value is a boolean, but must be a set of positions"),
        ({"path": "wrong/booleans"}, "the rule's value contains 'True' (a boolean), but input.tables"),
        ({"path": "wrong/far"}, "contains '2' (a number), but input.tables has the positions 0 to 1"),
        ({"path": "wrong/long"}, "the response has more than 1048576 bytes"),
        ({"path": "wrong/conflict"}, "status 500 (internal_error "),
        ({"token": "another-token"}, "status 401 (unauthorized request rejected by administrative"),
        ({"token": None}, "check 'token'"),
    ],
)
async def test_the_log_says_what_to_correct(
    connected: Connected, settings: Mapping[str, str | None], expected: str
) -> None:
    with pytest.raises(Unavailable) as raised:
        await connected(**settings).allowed(ACME, "read", frozenset(list(EU)[:2]))
    assert expected in (raised.value.detail or "")
    assert raised.value.message == "the policy 'opa-1' cannot decide now; try again later"


async def test_a_table_with_another_attribute_is_decided_again(connected: Connected) -> None:
    policy = connected(max_age=3600)
    assert await policy.allowed(ACME, "read", US) == frozenset()
    moved = frozenset(replace(table, tags={"region": "eu"}) for table in US)
    assert await policy.allowed(ACME, "read", moved | US) == moved
    other = replace(ACME, properties={"region": "us"})
    assert await policy.allowed(other, "read", moved | US) == US
