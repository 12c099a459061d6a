"""Sends requests with a bearer token (RFC 6750, section 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from pydantic import SecretStr

from sluicegate.api.clients.configured_secret import CurrentSecret
from sluicegate.api.clients.http_client import HttpClient, HttpRequest, HttpResponse
from sluicegate.api.clients.oauth_client import AccessTokens, is_token


class AuthorizedClient:
    """Sends requests with a bearer token, and repeats a rejected request with a new token.

    Args:
        http: The HTTP client.
        token: The token of each request; `None` sends no token. A configured token is read again from
            its file or variable (`RotatableSecret`).
        refusals: Statuses that mean that the server rejects the token.
        is_refusal: Whether a response with another status means that, too.
    """

    def __init__(
        self,
        http: HttpClient,
        token: SecretStr | AccessTokens | None,
        refusals: Collection[int] = (401,),
        is_refusal: Callable[[HttpResponse], bool] = lambda _: False,
    ) -> None:
        self._http = http
        self._token = CurrentSecret(token, is_token) if isinstance(token, SecretStr) else token
        self._refusals = refusals
        self._is_refusal = is_refusal

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request and return the response, whatever its status; see `HttpClient.send`.

        A request with a rejected token is sent again with another token, even if it is not idempotent,
        because the server has not processed it.

        Raises:
            OutcomeUnknown: The request is not idempotent, and may have been applied.
            NoResponse: The server does not respond.
            Unavailable: No token is available now.
        """
        if self._token is None:
            return await self._http.send(request)
        if isinstance(self._token, CurrentSecret):
            return await self._with_secret(request, self._token)
        shown = await self._token.get()
        answer = await self._http.send(_bearing(request, shown.value))
        if not self._refuses(answer):
            return answer
        other = await self._token.instead_of(shown)
        return await self._http.send(_bearing(request, other.value))

    async def _with_secret(self, request: HttpRequest, secret: CurrentSecret) -> HttpResponse:
        shown = await secret.get()
        answer = await self._http.send(_bearing(request, shown))
        if not self._refuses(answer) or (other := await secret.instead_of(shown)) == shown:
            return answer
        return await self._http.send(_bearing(request, other))

    def _refuses(self, answer: HttpResponse) -> bool:
        return answer.status in self._refusals or self._is_refusal(answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _bearing(request: HttpRequest, token: str) -> HttpRequest:
    return replace(request, headers={**request.headers, "Authorization": f"Bearer {token}"})
