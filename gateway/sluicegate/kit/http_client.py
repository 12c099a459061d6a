"""HTTP to one server, within bounds: connections, time, size of answers, and how often it is asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    import aiohttp

_T = TypeVar("_T")

_BEARER: Final = "Bearer "
_CONNECT_SECONDS: Final = 5.0
_CHUNK_BYTES: Final = 65_536
_PAUSES: Final = (0.3, 1.2)
_LONGEST_PAUSE: Final = 5
_PARSED_APART: Final = 65_536  # bytes; longer answers would hold up other requests
# Values of JSON in an answer, about: parsed they take a hundred bytes each, and meanwhile nothing else
# runs. The metadata of a table with very many snapshots has some millions.
_MOST_VALUES: Final = 10_000_000
_LARGE: Final = 4 << 20  # bytes; longer answers wait for each other
_LARGE_AT_ONCE: Final = 2
_PASSING: Final = frozenset((429, 502, 503, 504))


class NoAnswer(Exception):
    """There was no whole answer; the text is for the log and holds no secret."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is asked, and may be asked again. Its `repr` shows neither headers nor bodies.

    Attributes:
        method: Of HTTP.
        url: Percent-encoded; sent as it is.
        headers: Beside `Accept: application/json`, which is sent unless there is another.
        json: Sent as JSON, where it is not `None`.
        form: Sent as a form, where it is not `None`.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    json: Any = field(default=None, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back, whole.

    Attributes:
        request: What it answers.
        status: Of HTTP.
        headers: By their names in any spelling of upper and lower case.
        content: The body; it may hold secrets.
    """

    request: HttpRequest
    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)

    @property
    def retry_after(self) -> int | None:
        """Seconds that the server wants to be left alone, where it says so."""
        wait = self.headers.get("Retry-After", "")
        return int(wait) if wait.isascii() and wait.isdecimal() and len(wait) < 10 else None

    async def parsed(self, parse: Callable[[bytes], _T]) -> _T:
        """What a parser of JSON makes of the body; of a long one in a thread.

        Args:
            parse: Takes the body; what it raises is raised.

        Raises:
            NoAnswer: The body has more values than any that makes sense.
        """
        if len(self.content) < _PARSED_APART:
            return parse(self.content)
        return await anyio.to_thread.run_sync(self._parsed, parse)

    def _parsed(self, parse: Callable[[bytes], _T]) -> _T:
        values = sum(map(self.content.count, (b",", b":", b"[", b"{")))
        if values > _MOST_VALUES:
            request = self.request
            raise NoAnswer(f"{request.method} {request.url}: more than {_MOST_VALUES} JSON values")
        return parse(self.content)

    def redacted(self, text: str) -> str:
        """Text for the log, without the bearer token that was shown: servers may repeat it."""
        token = self.request.headers.get("Authorization", "").removeprefix(_BEARER)
        return text.replace(token, "…") if token else text


class HttpClient:
    """Asks one server; keeps connections open between requests, once there was one.

    Cookies are not kept and redirects not followed: both would carry secrets further.

    Args:
        timeout: Seconds for an answer, with all attempts at it.
        connections: How many are open at the same time, at most.
        longest: Bytes of an answer, at most.
        passing: Statuses after which it is asked again.
        pauses: Seconds before the second, third … attempt, at most. Each is of random length: many
            gateways must not march in step.
    """

    def __init__(
        self,
        *,
        timeout: float,
        connections: int,
        longest: int,
        passing: Collection[int] = _PASSING,
        pauses: Sequence[float] = _PAUSES,
    ) -> None:
        self._timeout = timeout
        self._connections = connections
        self._longest = longest
        self._passing = passing
        self._pauses = pauses
        self._large = anyio.CapacityLimiter(_LARGE_AT_ONCE)
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """The answer, whatever its status.

        After a broken connection or a passing refusal it is asked again, but not where the server wants
        to be left alone for longer than a few seconds.

        Raises:
            NoAnswer: There is none in time, or it is longer than any that makes sense.
        """
        import aiohttp

        try:
            with anyio.fail_after(self._timeout):
                return await self._attempts(request)
        except TimeoutError as error:
            reason = f"no answer within {self._timeout} seconds"
            raise NoAnswer(f"{request.method} {request.url}: {reason}") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise NoAnswer(f"{request.method} {request.url}: {reason}") from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _attempts(self, request: HttpRequest) -> HttpAnswer:
        import aiohttp

        for longest in self._pauses:
            pause = random.uniform(0, longest)  # noqa: S311 (no secret depends on it)
            try:
                answer = await self._attempt(request)
            except (aiohttp.ClientError, OSError):
                await anyio.sleep(pause)
                continue
            asked = answer.retry_after or 0
            if answer.status not in self._passing or asked > _LONGEST_PAUSE:
                return answer
            await anyio.sleep(max(pause, asked))
        return await self._attempt(request)

    async def _attempt(self, request: HttpRequest) -> HttpAnswer:
        from yarl import URL

        async with self._opened().request(
            request.method,
            URL(request.url, encoded=True),  # `encoded` keeps %1F and %2F as they are
            headers=request.headers,
            json=request.json,
            data=request.form,
            allow_redirects=False,
        ) as response:
            content = await self._read(response)
            return HttpAnswer(request, response.status, response.headers, content)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        content = bytearray()
        self._check_length(response.content_length or 0)
        async with AsyncExitStack() as turn:
            async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                if len(content) <= _LARGE < len(content) + len(chunk):
                    await turn.enter_async_context(self._large)
                content += chunk
                self._check_length(len(content))
            return bytes(content)

    def _check_length(self, length: int) -> None:
        if length > self._longest:
            raise ValueError(f"the answer has more than {self._longest} bytes")

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept": "application/json"},
            )
        return self._session
