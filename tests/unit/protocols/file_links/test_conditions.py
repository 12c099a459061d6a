from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sluicegate.protocols.file_links.conditions import (
    Outcome,
    UnsatisfiableRange,
    Validators,
    requested_range,
)

CHANGED = Validators('"v1"', datetime(2024, 5, 1, 12, 0, 0, 999_999, UTC))
AT = "Wed, 01 May 2024 12:00:00 GMT"
BEFORE = "Wed, 01 May 2024 11:59:59 GMT"
AFTER = "Wed, 01 May 2024 12:00:01 GMT"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=0-9", (0, 10)),
        ("bytes=3-", (3, 10)),
        ("bytes=9-9", (9, 10)),
        ("bytes=5-99", (5, 10)),
        ("bytes=-1", (9, 10)),
        ("bytes=-10", (0, 10)),
        ("bytes=-99", (0, 10)),
        ("Bytes=2-4", (2, 5)),
        ("bytes= 2-4 ", (2, 5)),
        (None, None),
        ("", None),
        ("bytes=-", None),
        ("bytes=", None),
        ("bytes=4-2", None),
        ("bytes=a-b", None),
        ("bytes=1-2,4-5", None),
        ("bytes=" + "9" * 5_000 + "-", None),
        ("bytes=0-" + "9" * 5_000, None),
        ("bytes=-" + "9" * 5_000, None),
        ("bytes=--1", None),
        ("bytes=\u0661-\u0662", None),
        ("items=0-1", None),
        ("0-1", None),
    ],
)
def test_a_range_of_ten_bytes(header: str | None, expected: tuple[int, int] | None) -> None:
    assert requested_range(header, 10) == expected


@pytest.mark.parametrize(
    ("header", "size"), [("bytes=10-", 10), ("bytes=99-100", 10), ("bytes=-0", 10), ("bytes=0-", 0)]
)
def test_a_range_beyond_the_end_cannot_be_satisfied(header: str, size: int) -> None:
    with pytest.raises(UnsatisfiableRange):
        requested_range(header, size)


def test_a_suffix_of_nothing_is_the_whole() -> None:
    assert requested_range("bytes=-5", 0) is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, Outcome.PROCEED),
        ({"if-match": '"v1"'}, Outcome.PROCEED),
        ({"if-match": "*"}, Outcome.PROCEED),
        ({"if-match": '"v0", "v1"'}, Outcome.PROCEED),
        ({"if-match": '"v0"'}, Outcome.FAILED),
        ({"if-match": 'W/"v1"'}, Outcome.FAILED),
        ({"if-unmodified-since": AT}, Outcome.PROCEED),
        ({"if-unmodified-since": BEFORE}, Outcome.FAILED),
        ({"if-unmodified-since": "soon"}, Outcome.PROCEED),
        ({"if-match": '"v1"', "if-unmodified-since": BEFORE}, Outcome.PROCEED),
        ({"if-none-match": '"v1"'}, Outcome.NOT_MODIFIED),
        ({"if-none-match": 'W/"v1"'}, Outcome.NOT_MODIFIED),
        ({"if-none-match": "*"}, Outcome.NOT_MODIFIED),
        ({"if-none-match": '"v0"'}, Outcome.PROCEED),
        ({"if-modified-since": AT}, Outcome.NOT_MODIFIED),
        ({"if-modified-since": AFTER}, Outcome.NOT_MODIFIED),
        ({"if-modified-since": BEFORE}, Outcome.PROCEED),
        ({"if-modified-since": "yesterday"}, Outcome.PROCEED),
        ({"if-modified-since": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, Outcome.PROCEED),
        ({"if-unmodified-since": "Mon, 01 Jan 2015 00:00:00 +99999999999999"}, Outcome.PROCEED),
        ({"if-none-match": '"v0"', "if-modified-since": AT}, Outcome.PROCEED),
        ({"if-match": '"v0"', "if-none-match": '"v1"'}, Outcome.FAILED),
    ],
)
def test_preconditions_in_their_order(headers: dict[str, str], expected: Outcome) -> None:
    assert CHANGED.check(headers) is expected


@pytest.mark.parametrize(
    ("if_range", "allowed"),
    [
        (None, True),
        ('"v1"', True),
        ('"v0"', False),
        ('W/"v1"', False),
        (AT, True),
        (BEFORE, False),
        (AFTER, False),
        ("soon", False),
    ],
)
def test_if_range_needs_exactly_this_state(if_range: str | None, allowed: bool) -> None:
    assert CHANGED.allow_range({} if if_range is None else {"if-range": if_range}) is allowed


@pytest.mark.parametrize("header", ["if-modified-since", "if-unmodified-since"])
@pytest.mark.parametrize("date", [BEFORE, AFTER])
def test_no_date_can_be_compared_where_the_time_is_not_known(header: str, date: str) -> None:
    timeless = Validators('"v1"')
    assert timeless.check({header: date}) is Outcome.PROCEED
    assert timeless.allow_range({"if-range": date}) is False
    assert timeless.last_modified is None


def test_a_store_without_entity_tags_matches_none() -> None:
    untagged = Validators(None, CHANGED.modified)
    assert untagged.check({"if-match": '"v1"'}) is Outcome.FAILED
    assert untagged.check({"if-none-match": '"v1"'}) is Outcome.PROCEED
    assert untagged.allow_range({"if-range": '"v1"'}) is False
