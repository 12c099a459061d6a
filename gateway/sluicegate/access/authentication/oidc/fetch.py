"""Fetches small JSON documents over HTTP without following redirects. Imports aiohttp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson

_LONGEST = 1_000_000
_CHUNK = 65_536
# Uncompressed responses cannot be decompression bombs.
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}


class FetchFailed(Exception):
    """A document could not be fetched. The reason is for operators and contains no secret."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class JsonFetcher:
    """Fetches documents, and keeps connections open between requests."""

    def __init__(self, timeout: float = 10) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: str) -> dict[str, Any]:
        """Return the JSON object at a URL."""
        return await self._request("GET", url)

    async def post(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the JSON object with which a URL responds to a form."""
        return await self._request("POST", url, form, headers)

    async def _request(
        self,
        method: str,
        url: str,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        try:
            async with self._open().request(
                method, url, data=form, headers=headers, allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise FetchFailed(f"{url} returned status {response.status}", response.status)
                return _parsed(url, await _read(url, response))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise FetchFailed(f"{url} cannot be fetched: {_reason(error)}") from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=self._timeout, headers=_HEADERS, auto_decompress=False
            )
        return self._session


async def _read(url: str, response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        content += chunk
        if len(content) > _LONGEST:
            raise FetchFailed(f"{url} returned more than {_LONGEST} bytes")
    return bytes(content)


def _parsed(url: str, content: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise FetchFailed(f"{url} did not return a JSON object")
    return document


def _reason(error: Exception) -> str:
    return (
        "no response in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    )
