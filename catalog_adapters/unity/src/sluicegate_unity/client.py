"""Questions to the catalog's API, and what its errors mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlencode

from sluicegate.api import AuthorizedClient, HttpAnswer, HttpClient, HttpRequest, NoAnswer, Unavailable
from sluicegate_unity.answers import Refused, json_object, refusal
from sluicegate_unity.config import UnityConfig
from sluicegate_unity.grants import authorized

_LONGEST: Final = 32 << 20
_PASSING: Final = frozenset((429, 500, 502, 503, 504))


@dataclass(frozen=True, slots=True)
class Question:
    """One request to the API. All of them only read, so each may be asked again.

    Attributes:
        path: Percent-encoded, below the API's root.
        query: Parameters.
        body: Sent as JSON.
    """

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: Mapping[str, Any] | None = None

    @property
    def route(self) -> str:
        """Method and path, for the log."""
        return f"{self.method} {self.path}"

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class UnityClient:
    """Asks one Unity Catalog.

    Args:
        name: The catalog's name in the configuration, for messages.
        api: Where its routes begin.
        http: How it is reached, and who the gateway is to it.
    """

    def __init__(self, name: str, api: str, http: AuthorizedClient) -> None:
        self.name = name
        self._api = api
        self._http = http

    @classmethod
    def configured(cls, name: str, config: UnityConfig) -> Self:
        """The client that a section describes; nothing is asked yet.

        Args:
            name: The catalog's name in the configuration.
            config: Its section.
        """
        http = HttpClient(
            timeout=config.timeout,
            connections=config.max_concurrency,
            longest=_LONGEST,
            passing=_PASSING,
        )
        return cls(name, config.api, authorized(config, http, name))

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What a route answers; see `ask`."""
        return await self.ask(Question("GET", path, query))

    async def ask(self, question: Question) -> dict[str, Any]:
        """The JSON object that the catalog answers.

        Raises:
            Refused: It answers with an error of the kind 4xx other than 401.
            Unavailable: It does not answer, or not as a Unity Catalog does, or does not know the
                gateway.
        """
        request = HttpRequest(question.method, f"{self._api}{question.target}", json=question.body)
        try:
            answer = await self._http.send(request)
            document = await answer.parsed(json_object)
        except NoAnswer as error:
            raise self.unavailable(str(error)) from error
        if answer.status == 200 and document is not None:
            return document
        raise self._error(answer, refusal(question.route, answer, document))

    def unavailable(self, detail: str) -> Unavailable:
        """The error for an answer that cannot be used.

        Args:
            detail: Why, for the log.
        """
        return Unavailable(
            f"the catalog '{self.name}' does not answer as it should now; try again later",
            detail=detail,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _error(self, answer: HttpAnswer, refused: Refused) -> Exception:
        if answer.status == 401:
            return Unavailable(
                f"the catalog '{self.name}' does not accept the gateway's token; ask its operator",
                detail=refused.detail,
            )
        meant = 400 <= answer.status <= 501 and answer.status not in _PASSING
        return refused if meant else self.unavailable(refused.detail)
