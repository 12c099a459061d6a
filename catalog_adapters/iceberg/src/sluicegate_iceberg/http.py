"""HTTP to one catalog: a bounded pool, a deadline, and retries of what is safe to ask again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from sluicegate.api import Unavailable

if TYPE_CHECKING:
    import aiohttp

_CONNECT_SECONDS = 5.0
_PAUSES = (0.2, 0.8)
_LONGEST_PAUSE = 5.0
# Metadata of tables with very many columns and snapshots has some megabytes.
_MAX_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 16
_TRY_AGAIN: Final = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a catalog answered; its body may hold secrets."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Http:
    """Sends requests to one catalog.

    Args:
        catalog: Its name in the configuration, for messages.
        timeout: Seconds that a question may take, retries included.
        connections: How many are open at most.
        pauses: Longest pauses before the second, third … attempt, in seconds.
    """

    def __init__(
        self,
        catalog: str,
        *,
        timeout: float,
        connections: int,
        pauses: tuple[float, ...] = _PAUSES,
    ) -> None:
        self._catalog = catalog
        self._timeout = timeout
        self._connections = connections
        self._pauses = pauses
        self._session: aiohttp.ClientSession | None = None

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask, and ask again after a broken connection or a passing refusal (429, 502, 503, 504).

        Args:
            method: Of a request that changes nothing.
            url: Percent-encoded; sent as it is.
            headers: Of the request.
            form: Fields of the body.

        Raises:
            Unavailable: There is no answer in time, or none that can be read.
        """
        import aiohttp

        try:
            with anyio.fail_after(self._timeout):
                return await self._attempts(method, url, headers, form)
        except TimeoutError as error:
            raise self.unavailable(f"{url}: no answer within {self._timeout} seconds") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.unavailable(f"{url}: {type(error).__name__}: {error}") from error

    def unavailable(self, detail: str) -> Unavailable:
        """The error that recipients see; the detail is for the log."""
        return Unavailable(
            f"the catalog '{self._catalog}' does not answer now; try again later", detail=detail
        )

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _attempts(
        self, method: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None
    ) -> Answer:
        import aiohttp

        for longest in self._pauses:
            try:
                answer = await self._attempt(method, url, headers, form)
            except (aiohttp.ClientError, OSError):
                await anyio.sleep(_jitter(longest))
                continue
            if answer.status not in _TRY_AGAIN:
                return answer
            await anyio.sleep(_asked_pause(answer) or _jitter(longest))
        return await self._attempt(method, url, headers, form)

    async def _attempt(
        self, method: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None
    ) -> Answer:
        from yarl import URL

        # Redirects would carry the token elsewhere; `encoded` keeps %1F and %2F as they are.
        async with self._opened().request(
            method, URL(url, encoded=True), headers=headers, data=form, allow_redirects=False
        ) as answer:
            return Answer(answer.status, answer.headers, await self._read(answer))

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
            body += chunk
            if len(body) > _MAX_BYTES:
                raise self.unavailable(f"{answer.url}: an answer of more than {_MAX_BYTES} bytes")
        return bytes(body)

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _jitter(longest: float) -> float:
    return random.uniform(longest / 2, longest)  # noqa: S311 - spreads retries, hides nothing


def _asked_pause(answer: Answer) -> float | None:
    """Seconds that the catalog asks to wait."""
    asked = answer.headers.get("Retry-After", "")
    return min(float(asked), _LONGEST_PAUSE) if asked.isascii() and asked.isdigit() else None
