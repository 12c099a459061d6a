"""Calls a gateway as a recipient, with a profile (Delta Sharing protocol, "Profile File Format")."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

import orjson

from sluicegate.api.errors import ConfigurationError, SluicegateError

_LONGEST_ANSWER = 64_000_000
_TIMEOUT_SECONDS = 60
_OAUTH = "oauth_client_credentials"


class GatewayRefused(SluicegateError):
    """The gateway returned an error, or cannot be reached."""


class ProfileClient:
    """Sends requests as a recipient."""

    def __init__(self, profile: Mapping[str, Any], path: Path) -> None:
        self._profile = profile
        self._path = path
        self._endpoint = self._member("endpoint").rstrip("/")

    @classmethod
    def read(cls, path: Path) -> Self:
        """A client for the recipient of a profile file."""
        try:
            profile = orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError:
            profile = None
        if not isinstance(profile, dict):
            raise ConfigurationError(f"{path} is not a profile file: it is not a JSON object")
        return cls(profile, path)

    async def post(self, names: tuple[str, ...], body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a POST request and return the JSON response."""
        token = await self._access_token()
        address = "/".join((self._endpoint, *(quote(name, safe="") for name in names)))
        return await self._send(
            address,
            data=orjson.dumps(body),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )

    async def _access_token(self) -> str:
        if "bearerToken" in self._profile:
            return self._member("bearerToken")
        if self._profile.get("type") != _OAUTH:
            raise ConfigurationError(
                f"{self._path}: unsupported type: use a profile with a bearer token or of type {_OAUTH}"
            )
        import aiohttp

        scope = self._profile.get("scope")
        form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        answer = await self._send(
            self._member("tokenEndpoint"),
            data=form,
            auth=aiohttp.BasicAuth(self._member("clientId"), self._member("clientSecret")),
        )
        return str(answer.get("access_token", ""))

    async def _send(self, address: str, **options: Any) -> dict[str, Any]:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=not _is_loopback(address)) as session,
                session.post(address, allow_redirects=False, **options) as response,
            ):
                return _answer(response.status, await response.content.read(_LONGEST_ANSWER))
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            # Only the type: the message of a library can contain the URL of a proxy with its password.
            raise GatewayRefused(f"{address} does not respond: {type(error).__name__}") from error

    def _member(self, name: str) -> str:
        value = self._profile.get(name)
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{self._path} is not a profile file: {name} is missing")
        return value


def _answer(status: int, content: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError:
        answer = None
    known = isinstance(answer, dict)
    if status == 200 and known:
        return dict(answer)
    said = answer.get("message") or answer.get("error_description") if known else None
    raise GatewayRefused(f"the gateway returned an error: {said or f'status {status}'}")


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
