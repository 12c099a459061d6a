"""How long a server requests that a client waits (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
from multidict import CIMultiDict

from sluicegate.api import HttpRequest, HttpResponse

SENT = "Sun, 06 Nov 1994 08:49:37 GMT"
YEAR = 31_536_000


def wait(value: str | None, **headers: str) -> int | None:
    """Seconds that a client waits after a response with these headers."""
    named = headers if value is None else {"Retry-After": value, **headers}
    request = HttpRequest("GET", "http://catalog.example")
    return HttpResponse(request, 503, CIMultiDict(named), b"").retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("31536001", YEAR),
        ("9" * 5000, YEAR),
        ("Sun, 06 Nov 1994 08:49:41 GMT", 4),
        ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
        ("Sun Nov  6 08:49:40 1994", 3),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", YEAR),
    ],
)
def test_dates_and_seconds_are_seconds_after_the_response(value: str, seconds: int) -> None:
    assert wait(value, Date=SENT) == seconds


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "-1",
        "1.5",
        "\u0663",  # ARABIC-INDIC DIGIT THREE
        "tomorrow",
        "Sun, 06 Nov 1994",
        "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 99999999 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 +99999999",
        "Sun, " * 2000,
    ],
)
def test_without_a_valid_value_the_client_chooses(value: str | None) -> None:
    assert wait(value, Date=SENT) is None


@pytest.mark.parametrize("date", [{}, {"Date": "no date"}])
def test_without_a_date_of_the_response_the_clock_of_the_gateway_counts(date: dict[str, str]) -> None:
    at = formatdate(time.time() + 1000, usegmt=True)
    found = wait(at, **date)
    assert found is not None
    assert 900 < found <= 1000
