"""Shows another server who the gateway is: by a bearer token (RFC 6750, section 2.1)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pydantic import SecretStr

from sluicegate.kit.http_client import HttpAnswer, HttpClient, HttpRequest
from sluicegate.kit.oauth_client import AccessTokens


class AuthorizedClient:
    """Asks a server with a bearer token; with another one where it does not take the first.

    Args:
        http: Sends the requests.
        token: Shown with each of them; `None` shows nothing. A given one is never renewed.
        refusals: Statuses that say that a token is not taken.
    """

    def __init__(
        self,
        http: HttpClient,
        token: SecretStr | AccessTokens | None,
        refusals: Collection[int] = (401,),
    ) -> None:
        self._http = http
        self._token = token
        self._refusals = refusals

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """The answer, whatever its status; see `HttpClient.send`.

        Raises:
            NoAnswer: There is none.
            Unavailable: No token can be had now.
        """
        if not isinstance(self._token, AccessTokens):
            given = None if self._token is None else self._token.get_secret_value()
            return await self._http.send(request if given is None else _bearing(request, given))
        shown = await self._token.get()
        answer = await self._http.send(_bearing(request, shown.value))
        if answer.status not in self._refusals:
            return answer
        other = await self._token.instead_of(shown)
        return await self._http.send(_bearing(request, other.value))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _bearing(request: HttpRequest, token: str) -> HttpRequest:
    return replace(request, headers={**request.headers, "Authorization": f"Bearer {token}"})
