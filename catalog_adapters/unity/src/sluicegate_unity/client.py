"""Sends requests to the catalog's API, and translates its errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlencode

import anyio

from sluicegate.api import (
    AccessTokens,
    AuthorizedClient,
    HttpClient,
    HttpRequest,
    HttpResponse,
    NoResponse,
    Unavailable,
    current_secret,
)
from sluicegate_unity.config import OAuth2, TokenExchange, UnityConfig
from sluicegate_unity.responses import (
    Refused,
    Verdict,
    is_conclusive,
    json_object,
    refusal,
    refuses_identity,
    verdict,
)

_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 (a type's name)
_MARGIN_SECONDS: Final = 300


def authorized(config: UnityConfig, http: HttpClient, catalog: str) -> AuthorizedClient:
    """Return a client that authenticates as configured."""
    grant = _grant(config)
    if grant is None:
        return AuthorizedClient(http, config.token, is_refusal=refuses_identity)
    server = f"the catalog '{catalog}'"
    tokens = AccessTokens(http, grant, server, margin=_MARGIN_SECONDS)
    return AuthorizedClient(http, tokens, is_refusal=refuses_identity)


def _grant(config: UnityConfig) -> Callable[[], Awaitable[HttpRequest]] | None:
    if config.token_exchange is not None:
        return _exchange(config.token_exchange, config.exchange_uri)
    return _client_credentials(config.oauth2) if config.oauth2 is not None else None


def _exchange(config: TokenExchange, uri: str) -> Callable[[], Awaitable[HttpRequest]]:
    async def grant() -> HttpRequest:
        form = {
            "grant_type": _EXCHANGE,
            "requested_token_type": _ACCESS_TOKEN,
            "subject_token_type": config.subject_token_type,
            "subject_token": await _subject(config),
        }
        return HttpRequest("POST", uri, form=form, idempotent=True)

    return grant


async def _subject(config: TokenExchange) -> str:
    if config.subject_token is not None:
        return await current_secret(config.subject_token)
    if config.subject_token_file is None:
        raise ValueError("there is no identity token")
    token = (await anyio.Path(config.subject_token_file).read_text(encoding="utf-8")).strip()
    if not token:
        raise ValueError(f"{config.subject_token_file} is empty")
    return token


def _client_credentials(config: OAuth2) -> Callable[[], Awaitable[HttpRequest]]:
    async def grant() -> HttpRequest:
        return await config.grant(config.token_uri)

    return grant


_LONGEST: Final = 32 << 20
_PASSING: Final = frozenset((429, 500, 502, 503, 504))


@dataclass(frozen=True, slots=True)
class Question:
    """A request to the API. It only reads, so it can be sent again.

    Attributes:
        path: Path below the API's base URL, percent-encoded.
    """

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: Mapping[str, Any] | None = None

    @property
    def route(self) -> str:
        """Return method and path, for the log."""
        return f"{self.method} {self.path}"

    @property
    def target(self) -> str:
        """Return path and query."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class UnityClient:
    """A client of one Unity Catalog."""

    def __init__(self, name: str, api: str, http: AuthorizedClient) -> None:
        self.name = name
        self._api = api
        self._http = http

    @classmethod
    def configured(cls, name: str, config: UnityConfig) -> Self:
        """Return the client for a section of the configuration, without connecting to the catalog."""
        http = HttpClient(
            timeout=config.timeout,
            connections=config.max_concurrency,
            longest=_LONGEST,
            passing=_PASSING,
            conclusive=is_conclusive,
        )
        return cls(name, config.api, authorized(config, http, name))

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the response of a route; see `ask`."""
        return await self.ask(Question("GET", path, query))

    async def ask(self, question: Question) -> dict[str, Any]:
        """Return the JSON object in the catalog's response."""
        request = HttpRequest(
            question.method, f"{self._api}{question.target}", json=question.body, idempotent=True
        )
        try:
            answer = await self._http.send(request)
            document = await answer.parsed(json_object)
        except NoResponse as error:
            raise self.unavailable(str(error)) from error
        if answer.status == 200 and document is not None:
            return document
        raise self._error(answer, refusal(question.route, answer, document))

    def unavailable(self, detail: str) -> Unavailable:
        """Return the error for an unusable response."""
        return Unavailable(
            f"the catalog '{self.name}' does not respond as expected; try again later",
            detail=detail,
        )

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    def _error(self, answer: HttpResponse, refused: Refused) -> Exception:
        known = verdict(answer)
        if known is Verdict.NO_ROUTE:
            return Refused.because_of_no_route(refused.detail)
        if known is Verdict.NO_VOLUME:
            return Refused.because_of_no_volume(refused.detail)
        if known is Verdict.UNKNOWN_IDENTITY:
            return Unavailable(
                f"the catalog '{self.name}' rejects the gateway's token; ask the gateway's operator",
                detail=refused.detail,
            )
        meant = 400 <= answer.status <= 501 and answer.status not in _PASSING
        return refused if meant else self.unavailable(refused.detail)
