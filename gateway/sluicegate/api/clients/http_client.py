"""HTTP client for one server, with limits for connections, time, response size, and retries.

A request that is not idempotent is repeated only if the server cannot have applied it: the request was
never sent, or the server refused it without an effect (docs/adr/0041). Source: RFC 9110, sections 9.2.2
and 15.6; RFC 6585, section 4.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread

from sluicegate.api.clients.retry_after import retry_after

if TYPE_CHECKING:
    import aiohttp

_T = TypeVar("_T")

_BEARER: Final = "Bearer "
_CONNECT_SECONDS: Final = 5.0
_CHUNK_BYTES: Final = 65_536
_PAUSES: Final = (0.3, 1.2)
_LONGEST_PAUSE: Final = 5
_PARSED_APART: Final = 65_536  # bytes; parsing longer bodies would block other requests
# Approximate number of JSON values in a response. Each takes about a hundred bytes after parsing, and
# parsing blocks other threads. The metadata of a table with very many snapshots has some millions.
_MOST_VALUES: Final = 10_000_000
_LARGE: Final = 4 << 20  # bytes; only a few longer responses are read at the same time
_LARGE_AT_ONCE: Final = 2
_PASSING: Final = frozenset((429, 502, 503, 504))
_IDEMPOTENT: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"))
# Proxies send these after the server behind them may have applied the request.
_BY_PROXIES: Final = frozenset((502, 503, 504))
_UNAVAILABLE: Final = 503
_WITHOUT_EFFECT: Final = frozenset((429, _UNAVAILABLE))


class NoResponse(Exception):
    """There was no complete response. The message is for the log and contains no secret."""


class OutcomeUnknown(NoResponse):
    """A request that is not idempotent was sent, and it is unknown whether the server applied it.

    Read the state from the server before you repeat the request.
    """


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request. Its `repr` contains neither headers nor bodies.

    Attributes:
        method: HTTP method.
        url: Percent-encoded URL, which is sent unchanged.
        headers: Request headers. `Accept: application/json` is added unless there is another `Accept`.
        json: JSON body, if not `None`.
        form: Form body, if not `None`.
        idempotent: Whether a second application of the request changes nothing, so that it may be
            repeated after an unknown outcome. `None` applies RFC 9110, section 9.2.2 to the method:
            false for POST and PATCH, true for GET, HEAD, PUT and DELETE.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    json: Any = field(default=None, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    idempotent: bool | None = None

    @property
    def is_idempotent(self) -> bool:
        """Whether the request may be repeated after an unknown outcome."""
        return self.method in _IDEMPOTENT if self.idempotent is None else self.idempotent


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response.

    Attributes:
        request: The request.
        status: HTTP status.
        headers: Response headers, with case-insensitive names.
        content: The body, which may contain secrets.
    """

    request: HttpRequest
    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)

    @property
    def retry_after(self) -> int | None:
        """Seconds from the header `Retry-After`, a number or a date; `None` if it is not valid."""
        return retry_after(self.headers)

    async def parsed(self, parse: Callable[[bytes], _T]) -> _T:
        """Parse the JSON body, in a thread if the body is long.

        Args:
            parse: Parses the body. Its errors are raised.

        Raises:
            NoResponse: The body has more values than any reasonable response.
        """
        if len(self.content) < _PARSED_APART:
            return parse(self.content)
        return await anyio.to_thread.run_sync(self._parsed, parse)

    def _parsed(self, parse: Callable[[bytes], _T]) -> _T:
        values = sum(map(self.content.count, (b",", b":", b"[", b"{")))
        if values > _MOST_VALUES:
            request = self.request
            raise NoResponse(f"{request.method} {request.url}: more than {_MOST_VALUES} JSON values")
        return parse(self.content)

    def redacted(self, text: str) -> str:
        """Return text for the log without the request's bearer token, which servers may repeat."""
        token = self.request.headers.get("Authorization", "").removeprefix(_BEARER)
        return text.replace(token, "…") if token else text


class _RepeatedByLibrary(Exception):
    """The library tried to send a request a second time."""


@dataclass
class _Sending:
    """Tracks whether a request was sent and has no response yet."""

    request: HttpRequest
    is_open: bool = False

    @property
    def is_unknown(self) -> bool:
        """Whether the request must not be repeated."""
        return self.is_open and not self.request.is_idempotent

    def begin(self) -> None:
        """Record that the first bytes are about to be sent."""
        if self.is_unknown:
            raise _RepeatedByLibrary("the connection was lost")
        self.is_open = True

    def failure(self, reason: str) -> NoResponse:
        """Return the error for a request without a response."""
        kind = OutcomeUnknown if self.is_unknown else NoResponse
        return kind(f"{self.request.method} {self.request.url}: {reason}")


class HttpClient:
    """Sends requests to one server and keeps connections open between them.

    Cookies are not stored and redirects are not followed, because both could send secrets to other
    servers.

    Args:
        timeout: Seconds for a request, including all attempts.
        connections: Maximum number of open connections.
        longest: Maximum bytes of a response.
        passing: Statuses after which the request is repeated.
        conclusive: Whether a response is final despite its status, so that the request isn't repeated.
        pauses: Maximum seconds before the second, third … attempt. The actual pauses are random, so
            that several gateways don't retry at the same time.
    """

    def __init__(
        self,
        *,
        timeout: float,
        connections: int,
        longest: int,
        passing: Collection[int] = _PASSING,
        conclusive: Callable[[HttpResponse], bool] = lambda _: False,
        pauses: Sequence[float] = _PAUSES,
    ) -> None:
        self._timeout = timeout
        self._connections = connections
        self._longest = longest
        self._passing = passing
        self._conclusive = conclusive
        self._pauses = pauses
        self._large = anyio.CapacityLimiter(_LARGE_AT_ONCE)
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request and return the response, whatever its status.

        After a broken connection or a temporary error the request is repeated, unless `Retry-After` is
        longer than a few seconds. A request that is not idempotent is repeated only if it was never
        sent, or after 429, or after 503 with `Retry-After`.

        Raises:
            OutcomeUnknown: The request is not idempotent, was sent, and has no usable response: the
                connection was lost, the timeout expired, or a proxy returned 502, 504, or 503 without
                `Retry-After`.
            NoResponse: There is no response in time, or it is longer than `longest`.
        """
        import aiohttp

        sending = _Sending(request)
        try:
            with anyio.fail_after(self._timeout):
                return await self._attempts(sending)
        except TimeoutError as error:
            raise sending.failure(f"no response within {self._timeout} seconds") from error
        except (aiohttp.ClientError, OSError, ValueError, _RepeatedByLibrary) as error:
            raise sending.failure(f"{type(error).__name__}: {error}") from error

    @staticmethod
    def preload() -> None:
        """Import the library that sends requests, as the `preload` of a plugin should."""
        import aiohttp  # noqa: F401
        import yarl  # noqa: F401

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _attempts(self, sending: _Sending) -> HttpResponse:
        import aiohttp

        for longest in self._pauses:
            pause = random.uniform(0, longest)  # noqa: S311 (no secret depends on it)
            try:
                answer = await self._attempt(sending)
            except (aiohttp.ClientError, OSError):
                if sending.is_unknown:
                    raise
                await anyio.sleep(pause)
                continue
            wait = answer.retry_after or 0
            if wait > _LONGEST_PAUSE or not self._passes(answer):
                return answer
            await anyio.sleep(max(pause, wait))
        return await self._attempt(sending)

    def _passes(self, answer: HttpResponse) -> bool:
        if not answer.request.is_idempotent and answer.status not in _WITHOUT_EFFECT:
            return False
        return answer.status in self._passing and not self._conclusive(answer)

    def _leaves_unknown(self, answer: HttpResponse) -> bool:
        """Whether a proxy sent the response, and the server behind it may have applied the request."""
        if answer.request.is_idempotent or answer.status not in _BY_PROXIES:
            return False
        # This header means that the server itself rejected the request without an effect.
        refused = answer.status == _UNAVAILABLE and "Retry-After" in answer.headers
        return not refused and not self._conclusive(answer)

    async def _attempt(self, sending: _Sending) -> HttpResponse:
        from yarl import URL

        request = sending.request
        async with self._opened().request(
            request.method,
            URL(request.url, encoded=True),  # `encoded` keeps %1F and %2F as they are
            headers=request.headers,
            json=request.json,
            data=request.form,
            allow_redirects=False,
            trace_request_ctx={"sending": sending},
        ) as response:
            content = await self._read(response)
            answer = HttpResponse(request, response.status, response.headers, content)
        if self._leaves_unknown(answer):
            raise sending.failure(f"status {answer.status}")
        sending.is_open = False
        return answer

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        content = bytearray()
        # The response to HEAD has the length of a body that is not sent (RFC 9110, section 9.3.2).
        if response.method != "HEAD":
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
            raise ValueError(f"the response has more than {self._longest} bytes")

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept": "application/json"},
                trace_configs=[_sendings()],
            )
        return self._session


def _sendings() -> aiohttp.TraceConfig:
    """Return a trace configuration that notifies a request's `_Sending` before its first bytes."""
    import aiohttp

    async def begin(
        _: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceRequestHeadersSentParams
    ) -> None:
        context.trace_request_ctx["sending"].begin()

    tracing = aiohttp.TraceConfig()
    tracing.on_request_headers_sent.append(begin)
    return tracing
