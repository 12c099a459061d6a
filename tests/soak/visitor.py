"""One client of the gateway: it sends requests, and each answer is judged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NoReturn

import httpx
from soak.record import Attempt, Record, Stopped
from soak.site import SHARE, Site
from soak.tables import ChangingTable

from sluicegate_testing.secrets import keep_written

# Longer than the gateway waits for all servers that one request needs, one after the other.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Operation:
    """Something that clients do."""

    name: str
    weight: int
    run: Callable[[Visitor], Awaitable[None]]


@dataclass
class Visitor:
    """A recipient at work."""

    site: Site
    record: Record
    http: httpx.AsyncClient
    recipient: str
    token: str = field(repr=False)
    random: Random

    def table(self) -> ChangingTable:
        """Some table."""
        return self.random.choice(self.site.tables)

    async def get(self, door: str, path: str, **options: Any) -> httpx.Response:
        """See `send`."""
        return await self.send(door, "GET", path, **options)

    async def post(self, door: str, path: str, **options: Any) -> httpx.Response:
        """See `send`."""
        return await self.send(door, "POST", path, **options)

    async def send(
        self,
        door: str,
        method: str,
        path: str,
        *,
        needs: Collection[str] = (),
        expected: Collection[int] = (200,),
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Send a request, and read its answer to the end."""
        sent = dict(headers or {})
        if bearer := self.token if token is None else token:
            sent["Authorization"] = f"Bearer {bearer}"
        url = path if "://" in path else self.site.gateway.address + path
        attempt = self.record.attempt(door, f"{method} {url.partition('?')[0]}", needs)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                response = await self.http.request(method, url, headers=sent, **options)
        except TimeoutError:
            self.record.failed(attempt, f"no response within {PATIENCE_SECONDS:.0f} seconds")
        except httpx.HTTPError as error:
            self.record.failed(attempt, f"{type(error).__name__}: {error}")
        if response.is_error:
            keep_written("errors", response.content)
        self.record.answered(attempt, response.status_code, expected, response.text)
        return response

    def wrong(self, door: str, what: str | None, since: float | None = None) -> None:
        """An answer has a wrong content; nothing happens if it is not wrong."""
        if what is not None:
            attempt = self.record.attempt(door, "content", ())
            self.record.statuses[door]["wrong"] += 1
            self.record.violation(what, attempt)
            raise Stopped

    def failed_later(self, door: str, what: str, needs: Collection[str], since: float) -> NoReturn:
        """An answer with status 200 says, or shows, that something failed."""
        attempt = Attempt(door, "content", frozenset(needs), since)
        self.record.statuses[door]["failed"] += 1
        if not self.record.excused(attempt):
            self.record.violation(what, attempt)
        raise Stopped

    async def library(
        self, door: str, what: str, needs: Collection[str], call: Callable[[], Awaitable[Any]]
    ) -> Any:
        """The result of a client library."""
        attempt = self.record.attempt(door, what, needs)
        try:
            async with asyncio.timeout(4 * PATIENCE_SECONDS):
                result = await call()
        except Exception as error:
            if not isinstance(error, TimeoutError) and self.record.excused(attempt):
                self.record.statuses[door]["library error"] += 1
                raise Stopped from error
            if "ServiceUnavailable" in type(error).__name__:
                self.record.answered(attempt, 503, (200,), f"{type(error).__name__}: {error}")
            self.record.failed(attempt, f"{type(error).__name__}: {str(error)[:500]}")
        self.record.answered(attempt, 200, (200,))
        return result


def sharing(table: ChangingTable, rest: str = "") -> str:
    """The path of a table in Delta Sharing."""
    share, schema, name = table.path
    return f"/delta-sharing/shares/{share}/schemas/{schema}/tables/{name}{rest}"


def iceberg(table: ChangingTable, rest: str = "") -> str:
    """The path of a table in the Iceberg catalog."""
    share, schema, name = table.path
    return f"/iceberg/v1/shares/{share}/namespaces/{schema}/tables/{name}{rest}"


def lines_of(response: httpx.Response) -> list[dict[str, Any]]:
    """The lines of an answer."""
    return [json.loads(line) for line in response.text.splitlines()]


SHARE_PATH = f"/delta-sharing/shares/{SHARE}"
