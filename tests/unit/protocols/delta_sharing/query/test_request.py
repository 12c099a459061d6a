from typing import Any

import pytest

from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.delta_sharing.request import QueryRequest


def test_an_empty_body_requests_the_latest_version() -> None:
    request = QueryRequest.parse({})
    assert not request.travel
    assert not request.continues
    assert not request.wants_tokens


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"version": 1, "timestamp": "2024-01-01T00:00:00Z"}, "only one of"),
        ({"maxFiles": 0}, "maxFiles"),
        ({"predicateHints": "a = 1"}, "predicateHints"),
        ({"predicateHints": [1]}, "predicateHints"),
        ({"jsonPredicateHints": {}}, "jsonPredicateHints"),
        ({"includeRefreshToken": "yes"}, "includeRefreshToken"),
        ({"includeRefreshToken": True, "version": 1}, "includeRefreshToken"),
        ({"refreshToken": "t", "version": 0}, "refreshToken"),
        ({"refreshToken": "t", "pageToken": "t"}, "refreshToken"),
    ],
)
def test_a_body_that_is_not_valid_is_rejected_by_name(body: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        QueryRequest.parse(body)


@pytest.mark.parametrize(
    ("hint", "limit"), [(None, None), (-1, None), (0, 0), (7, 7), (7.0, 7), (2**40, 2**31 - 1)]
)
def test_a_limit_hint_is_capped_and_ignored_below_zero(hint: object, limit: int | None) -> None:
    assert QueryRequest.parse({"limitHint": hint}).limit == limit


@pytest.mark.parametrize("body", [{"maxFiles": 1}, {"includeRefreshToken": True}, {"pageToken": "t"}])
def test_requests_for_tokens_want_a_last_line(body: dict[str, Any]) -> None:
    assert QueryRequest.parse(body).wants_tokens


def test_the_size_of_pages_may_change_between_pages_but_not_the_query() -> None:
    body = {"version": 3, "limitHint": 5, "predicateHints": ["a = 1"]}
    first = QueryRequest.parse(body | {"maxFiles": 1})
    assert QueryRequest.parse(body | {"maxFiles": 9, "pageToken": "t"}).identity == first.identity
    changes: list[dict[str, Any]] = [{"version": 4}, {"limitHint": 6}, {"predicateHints": []}]
    for change in changes:
        assert QueryRequest.parse(body | change).identity != first.identity


@pytest.mark.parametrize("name", ["idempotencyKey", "idempotency_key"])
def test_both_spellings_of_the_idempotency_key_are_read(name: str) -> None:
    assert QueryRequest.parse({name: "k"}).idempotency_key == "k"


def test_an_empty_json_hint_is_ignored() -> None:
    assert QueryRequest.parse({"jsonPredicateHints": ""}).json_hints is None
