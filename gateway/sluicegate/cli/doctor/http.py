"""Plain HTTP requests, as recipients send them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sluicegate.cli.doctor.results import Finding

if TYPE_CHECKING:
    from yarl import URL

_LONGEST = 4096
_CODE = re.compile(rb"<Code>(\w{1,64})</Code>")
# Stores refuse signatures with a difference of 15 minutes, and tokens with one of 5.
_FAILING_SECONDS = 300
_NOTABLE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of a response, the store's error code, and its `Date` as seconds from now."""

    status: int
    code: str
    clock_difference: float | None

    def __str__(self) -> str:
        """Status and code, for messages."""
        return f"status {self.status} {self.code}".strip()


class Unreachable(Exception):
    """The server does not respond. The text contains no URL."""


async def get(url: str, *, first_bytes: bool = False) -> Answer:
    """Send a GET request without redirects.

    Args:
        url: The URL, which never appears in messages.
    """
    import aiohttp

    headers = {"Range": "bytes=0-15"} if first_bytes else {}
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(_literal(url), headers=headers, allow_redirects=False) as response,
        ):
            body = await response.content.read(_LONGEST)
            code = _CODE.search(body) if response.status >= 400 else None
            return Answer(
                response.status,
                code[1].decode() if code else "",
                _difference(response.headers.get("Date")),
            )
    except (aiohttp.ClientError, OSError, ValueError) as error:
        place = urlsplit(url)
        port = f":{place.port}" if place.port else ""
        raise Unreachable(f"{place.hostname}{port} does not respond ({type(error).__name__})") from None


def clock_finding(what: str, difference: float | None) -> Finding | None:
    """Return a finding if the clock of a server is notably different, or else `None`."""
    if difference is None or abs(difference) <= _NOTABLE_SECONDS:
        return None
    way = "ahead of" if difference > 0 else "behind"
    message = f"the clock of {what} is {abs(difference):.0f} s {way} this machine's"
    remedy = "synchronize the clocks (NTP): signatures and tokens depend on them"
    return Finding("failed" if abs(difference) > _FAILING_SECONDS else "warning", message, remedy)


def _literal(url: str) -> URL:
    from yarl import URL

    return URL(url, encoded=True)  # a normalized URL would no longer match its signature


def _difference(date: str | None) -> float | None:
    if date is None:
        return None
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()
