"""Where a query continues, and what its tokens are bound to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_gateway import KEYS, shared_table
from support.gateways.memory_grants import ACME, RIVAL
from support.process.clock import Clock

from sluicegate.api import InvalidRequest, Principal, SharedTable
from sluicegate.protocols.delta_sharing.query.tokens import Continuation, Continuations, bound_to
from sluicegate.protocols.delta_sharing.request import QueryRequest, TimeTravel
from sluicegate.signing.opaque_tokens import TokenSigner

LATEST = TimeTravel()
REQUEST = QueryRequest(LATEST, limit=9)
REST = Continuation(version=3, after="part-7.parquet", rows_left=5)
TABLE = shared_table()


@pytest.fixture
def clock() -> Clock:
    return Clock(1_000)


@pytest.fixture
def continuations(clock: Clock) -> Continuations:
    refreshes = TokenSigner(KEYS.derive("refresh"), 600, clock)
    return Continuations(TokenSigner(KEYS.derive("pages"), 60, clock), refreshes)


def test_a_request_without_a_token_starts_at_the_first_file(continuations: Continuations) -> None:
    assert continuations.start(ACME, TABLE, REQUEST) == Continuation()


@pytest.mark.parametrize("rest", [REST, replace(REST, rows_left=None), replace(REST, version=0)])
def test_a_page_starts_where_the_one_before_ended(
    continuations: Continuations, rest: Continuation
) -> None:
    token = continuations.next_page(ACME, TABLE, REQUEST, rest)
    later = replace(REQUEST, page_token=token, max_files=50)
    assert continuations.start(ACME, TABLE, later) == rest


def test_a_refresh_pins_the_version_and_starts_again(continuations: Continuations) -> None:
    token = continuations.refresh(ACME, TABLE, REQUEST, 3)
    assert continuations.start(ACME, TABLE, replace(REQUEST, refresh_token=token)) == Continuation(3)


@pytest.mark.parametrize("kind", ["page_token", "refresh_token"])
@pytest.mark.parametrize(
    ("principal", "table", "changed"),
    [
        (RIVAL, TABLE, {}),
        (ACME, replace(TABLE, id="t-2"), {}),
        (ACME, TABLE, {"limit": 8}),
        (ACME, TABLE, {"sql_hints": ("a = 1",)}),
        (ACME, TABLE, {"json_hints": "{}"}),
        (ACME, TABLE, {"travel": TimeTravel(3)}),
    ],
    ids=["recipient", "table", "limit", "SQL hints", "JSON hints", "version"],
)
def test_a_token_is_bound_to_recipient_table_and_request(
    continuations: Continuations,
    kind: str,
    principal: Principal,
    table: SharedTable,
    changed: dict[str, Any],
) -> None:
    tokens: dict[str, Any] = {
        "page_token": continuations.next_page(ACME, TABLE, REQUEST, REST),
        "refresh_token": continuations.refresh(ACME, TABLE, REQUEST, 3),
    }
    request = replace(REQUEST, **{kind: tokens[kind]}, **changed)
    with pytest.raises(InvalidRequest, match="is not valid for this request"):
        continuations.start(principal, table, request)


def test_tokens_of_one_kind_are_not_tokens_of_the_other(continuations: Continuations) -> None:
    page = continuations.next_page(ACME, TABLE, REQUEST, REST)
    refresh = continuations.refresh(ACME, TABLE, REQUEST, 3)
    with pytest.raises(InvalidRequest, match="refreshToken is not valid"):
        continuations.start(ACME, TABLE, replace(REQUEST, refresh_token=page))
    with pytest.raises(InvalidRequest, match="pageToken is not valid"):
        continuations.start(ACME, TABLE, replace(REQUEST, page_token=refresh))


@pytest.mark.parametrize("token", ["", "x", "ü", "a" * 500])
def test_a_token_that_nobody_issued_is_rejected(continuations: Continuations, token: str) -> None:
    with pytest.raises(InvalidRequest, match="pageToken is not valid"):
        continuations.start(ACME, TABLE, replace(REQUEST, page_token=token))


def test_each_kind_has_its_own_lifetime(continuations: Continuations, clock: Clock) -> None:
    page = replace(REQUEST, page_token=continuations.next_page(ACME, TABLE, REQUEST, REST))
    refresh = replace(REQUEST, refresh_token=continuations.refresh(ACME, TABLE, REQUEST, 3))
    clock.advance(61)
    with pytest.raises(InvalidRequest, match="pageToken has expired"):
        continuations.start(ACME, TABLE, page)
    assert continuations.start(ACME, TABLE, refresh) == Continuation(3)
    clock.advance(600)
    with pytest.raises(InvalidRequest, match="refreshToken has expired"):
        continuations.start(ACME, TABLE, refresh)


def test_names_of_a_table_may_change_but_not_its_id() -> None:
    renamed = replace(TABLE, name="o2", schema="s2", share="x2")
    assert bound_to(ACME, renamed, (1,)) == bound_to(ACME, TABLE, (1,))
    assert bound_to(ACME, TABLE, (1,)) != bound_to(ACME, TABLE, ("1",))
