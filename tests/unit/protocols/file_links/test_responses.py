"""Status, headers and bytes of the response to a link, for a file of known size and state."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from starlette.responses import Response

from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.responses import SelectedBytes, respond_bytes, select_bytes

STATE = Validators('"v1"', datetime(2024, 5, 1, 12, tzinfo=UTC))
FIXED = {
    "Accept-Ranges": "bytes",
    "Content-Type": "application/octet-stream",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
}
DESCRIBED = {**FIXED, "ETag": '"v1"', "Last-Modified": "Wed, 01 May 2024 12:00:00 GMT"}


def response(headers: dict[str, str], size: int = 10, method: str = "GET") -> Response:
    """The complete response to a request that selects no bytes."""
    found = select_bytes(size, STATE, method, headers)
    assert isinstance(found, Response)
    return found


def selected(size: int = 10, state: Validators = STATE, **headers: str) -> SelectedBytes:
    found = select_bytes(
        size, state, "GET", {name.replace("_", "-"): each for name, each in headers.items()}
    )
    assert isinstance(found, SelectedBytes)
    return found


def test_without_a_range_all_bytes_are_selected() -> None:
    assert selected() == SelectedBytes(0, 10, 200, {**DESCRIBED, "Content-Length": "10"})


@pytest.mark.parametrize(
    ("header", "start", "end"),
    [("bytes=0-0", 0, 1), ("bytes=3-", 3, 10), ("bytes=-2", 8, 10), ("bytes=8-99", 8, 10)],
)
def test_a_range_is_answered_with_its_place(header: str, start: int, end: int) -> None:
    place = {"Content-Length": str(end - start), "Content-Range": f"bytes {start}-{end - 1}/10"}
    assert selected(range=header) == SelectedBytes(start, end, 206, {**DESCRIBED, **place})


def test_a_range_of_another_state_is_ignored() -> None:
    assert selected(range="bytes=0-1", if_range='"v0"').status == 200
    assert selected(range="bytes=99-", if_range='"v0"').end == 10
    assert selected(range="bytes=0-1", if_range='"v1"').status == 206


def test_an_unknown_state_is_not_described() -> None:
    assert selected(state=Validators(None, None)).headers == {**FIXED, "Content-Length": "10"}


def test_an_empty_file_has_no_ranges() -> None:
    assert (selected(0).start, selected(0).end, selected(0).status) == (0, 0, 200)
    assert response({"range": "bytes=0-"}, 0).status_code == 416


def test_head_describes_the_entire_file() -> None:
    head = response({"range": "bytes=0-1"}, method="HEAD")
    assert (head.status_code, head.headers["content-length"], head.body) == (200, "10", b"")
    assert {name: head.headers[name] for name in DESCRIBED} == DESCRIBED


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_unchanged_file_is_not_sent_again(method: str) -> None:
    found = response({"if-none-match": '"v1"', "range": "bytes=0-1"}, method=method)
    assert (found.status_code, found.body, found.headers["etag"]) == (304, b"", '"v1"')


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"if-match": '"v0"'}, 412, "PRECONDITION_FAILED"),
        ({"range": "bytes=10-"}, 416, "RANGE_NOT_SATISFIABLE"),
        ({"if-match": '"v0"', "range": "bytes=10-"}, 412, "PRECONDITION_FAILED"),
    ],
)
def test_a_refusal_is_json_and_not_stored(headers: dict[str, str], status: int, code: str) -> None:
    found = response(headers)
    body = json.loads(bytes(found.body))
    assert (found.status_code, body["errorCode"]) == (status, code)
    assert found.headers["cache-control"] == "private, no-store"
    assert found.headers.get("content-range") == ("bytes */10" if status == 416 else None)


@pytest.mark.parametrize(
    ("headers", "status", "body"),
    [
        ({}, 200, b"0123456789"),
        ({"range": "bytes=2-4"}, 206, b"234"),
        ({"if-none-match": '"v1"'}, 304, b""),
    ],
)
def test_bytes_in_memory(headers: dict[str, str], status: int, body: bytes) -> None:
    found = respond_bytes(b"0123456789", STATE, "GET", headers)
    assert (found.status_code, bytes(found.body)) == (status, body)
