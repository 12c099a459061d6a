"""HTTP with bounds: connections, time and size of answers; redirects are not followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import aiohttp

_LONGEST = 32 * 1024 * 1024
_CHUNK = 65_536
_CONNECT_SECONDS = 5.0


class Unreachable(Exception):
    """There was no whole answer; the text is for the log and holds no secret."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked; `repr` shows neither headers nor form."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    json: Any = None
    form: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whole.

    Attributes:
        retry_after: Seconds that the server wants to be left alone, where it says so.
    """

    status: int
    content: bytes = field(repr=False)
    retry_after: int | None = None


class Transport:
    """Keeps a pool of connections, once there was one.

    Args:
        timeout: Seconds for a whole answer.
        connections: How many are open at the same time, at most.
    """

    def __init__(self, timeout: float, connections: int) -> None:
        self._timeout = timeout
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Request) -> Answer:
        """The answer, whatever its status.

        Raises:
            Unreachable: There is none, or it is longer than any that makes sense.
        """
        import aiohttp
        from yarl import URL

        try:
            async with self._open().request(
                request.method,
                URL(request.url, encoded=True),
                headers=request.headers,
                json=request.json,
                data=request.form,
                allow_redirects=False,
            ) as response:
                content = await _read(response)
                wait = response.headers.get("Retry-After", "")
                return Answer(response.status, content, _seconds(wait))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            if isinstance(error, TimeoutError):
                reason = "no answer in time"
            raise Unreachable(f"{request.method} {request.url}: {reason}") from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout, sock_connect=_CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                timeout=timeout,
                # A server's cookies would be sent along with the next token.
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept": "application/json"},
            )
        return self._session


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        content += chunk
        if len(content) > _LONGEST:
            raise ValueError(f"the answer has more than {_LONGEST} bytes")
    return bytes(content)


def _seconds(header: str) -> int | None:
    return int(header) if header.isascii() and header.isdecimal() and len(header) < 10 else None
