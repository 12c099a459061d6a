"""Requests for streams and change feeds are checked before any table is read."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.delta_sharing.changes.request import Bound, ChangesRequest

EARLY, EARLY_MS = "2022-01-01T00:00:00Z", 1_640_995_200_000


def test_a_feed_has_both_bounds_by_version_or_time() -> None:
    request = ChangesRequest.of_feed({"startingVersion": "2", "endingTimestamp": EARLY})
    assert request == ChangesRequest("feed", Bound(2), Bound(timestamp=EARLY_MS))
    request = ChangesRequest.of_feed({"startingTimestamp": EARLY, "endingVersion": "0"})
    assert request == ChangesRequest("feed", Bound(timestamp=EARLY_MS), Bound(0))


def test_options_of_a_feed() -> None:
    request = ChangesRequest.of_feed(
        {
            "startingVersion": "0",
            "includeHistoricalMetadata": "true",
            "includeHistoricalProtocol": "True",
            "maxFiles": "7",
            "pageToken": "t",
        }
    )
    assert (request.historical_metadata, request.historical_protocol) == (True, True)
    assert (request.max_files, request.page_token) == (7, "t")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({}, "startingVersion or startingTimestamp must be given"),
        ({"endingVersion": "1"}, "startingVersion or startingTimestamp must be given"),
        ({"startingVersion": "0", "startingTimestamp": EARLY}, "only one of startingVersion"),
        (
            {"startingVersion": "0", "endingVersion": "1", "endingTimestamp": EARLY},
            "only one of endingVersion",
        ),
        ({"startingVersion": "-1"}, "startingVersion must be between 0"),
        ({"startingVersion": "x"}, "startingVersion must be a whole number"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp must be an ISO 8601 time"),
        ({"startingVersion": "0", "endingVersion": "1.5"}, "endingVersion must be a whole number"),
        ({"startingVersion": "0", "includeHistoricalMetadata": "1"}, "includeHistoricalMetadata"),
        ({"startingVersion": "0", "includeHistoricalProtocol": "1"}, "includeHistoricalProtocol"),
        ({"startingVersion": "0", "maxFiles": "0"}, "maxFiles must be between 1 and 2147483647"),
        ({"startingVersion": "0", "maxFiles": "2147483648"}, "maxFiles must be between"),
        ({"startingVersion": "0", "pageToken": ""}, "pageToken is empty"),
    ],
)
def test_a_feed_that_is_not_valid_is_rejected_by_name(query: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        ChangesRequest.of_feed(query)


@pytest.mark.parametrize("body", [{}, {"version": 3}, {"endingVersion": 5}, {"startingVersion": None}])
def test_a_body_without_a_starting_version_requests_no_stream(body: dict[str, Any]) -> None:
    assert ChangesRequest.of_stream(body) is None


def test_a_stream_always_has_historical_metadata() -> None:
    request = ChangesRequest.of_stream({"startingVersion": 0, "limitHint": 5})
    assert request == ChangesRequest("data", Bound(0), Bound(), historical_metadata=True)
    request = ChangesRequest.of_stream(
        {"startingVersion": 0, "endingVersion": 4, "maxFiles": 1, "includeHistoricalProtocol": True}
    )
    assert request == ChangesRequest("data", Bound(0), Bound(4), True, True, max_files=1)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"version": 1}, "only one of version, timestamp, startingVersion"),
        ({"timestamp": EARLY}, "only one of version, timestamp, startingVersion"),
        ({"includeRefreshToken": True}, "includeRefreshToken cannot be used together with"),
        ({"includeRefreshToken": "yes"}, "includeRefreshToken must be true or false"),
        ({"refreshToken": "t"}, "refreshToken cannot be used together with startingVersion"),
        ({"endingVersion": -1}, "endingVersion must be between"),
        ({"startingVersion": True}, "startingVersion must be a whole number"),
        ({"maxFiles": 0}, "maxFiles must be between"),
    ],
)
def test_a_stream_that_is_not_valid_is_rejected_by_name(more: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        ChangesRequest.of_stream({"startingVersion": 0, **more})


def test_a_stream_may_say_that_it_wants_no_refresh_token() -> None:
    assert ChangesRequest.of_stream({"startingVersion": 0, "includeRefreshToken": False}) is not None


@pytest.mark.parametrize(
    ("bound", "is_specified"), [(Bound(), False), (Bound(0), True), (Bound(timestamp=0), True)]
)
def test_a_bound_of_zero_is_specified(bound: Bound, is_specified: bool) -> None:
    assert bool(bound) is is_specified


@pytest.mark.parametrize(
    ("query", "expected"), [({}, False), ({"maxFiles": "1"}, True), ({"pageToken": "t"}, True)]
)
def test_requests_for_pages_want_a_last_line(query: dict[str, str], expected: bool) -> None:
    assert ChangesRequest.of_feed({"startingVersion": "0", **query}).wants_tokens is expected


def test_a_page_may_have_another_size_but_not_another_range() -> None:
    query = {"startingVersion": "0", "endingVersion": "4"}
    first = ChangesRequest.of_feed({**query, "maxFiles": "1"})
    assert (
        ChangesRequest.of_feed({**query, "maxFiles": "9", "pageToken": "t"}).identity == first.identity
    )
    for change in (
        {"startingVersion": "1"},
        {"endingVersion": "5"},
        {"includeHistoricalMetadata": "true"},
        {"includeHistoricalProtocol": "true"},
    ):
        assert ChangesRequest.of_feed({**query, **change}).identity != first.identity


def test_a_stream_and_a_feed_of_the_same_range_are_different_requests() -> None:
    feed = ChangesRequest.of_feed({"startingVersion": "0", "includeHistoricalMetadata": "true"})
    stream = ChangesRequest.of_stream({"startingVersion": 0})
    assert stream is not None
    assert feed.identity != stream.identity
