"""Questions to the catalog's API: who asks, what is tried again, and what errors mean."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import anyio

from sluicegate.api import Unavailable
from sluicegate_unity.answers import Refused, parsed, refusal
from sluicegate_unity.tokens import TokenSource
from sluicegate_unity.transport import Answer, Request, Transport, Unreachable

# At most so long before the second and the third attempt, in seconds.
_PAUSES: Final = (0.3, 1.2)
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
        tokens: Who the gateway is to it.
        transport: How it is reached.
        timeout: Seconds for a question with all that it takes.
    """

    def __init__(
        self, name: str, api: str, tokens: TokenSource, transport: Transport, timeout: float
    ) -> None:
        self.name = name
        self._api = api
        self._tokens = tokens
        self._transport = transport
        self._timeout = timeout

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
        try:
            with anyio.fail_after(self._timeout):
                answer, token = await self._authorized(question)
                document = await parsed(answer)
        except TimeoutError as error:
            raise self.unavailable(f"{question.path}: no answer in time") from error
        except Unreachable as error:
            raise self.unavailable(str(error)) from error
        if answer.status == 200 and document is not None:
            return document
        raise self._error(question, answer, refusal(question.route, answer, document, token))

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
        await self._tokens.aclose()
        await self._transport.aclose()

    async def _authorized(self, question: Question) -> tuple[Answer, str | None]:
        """The answer, after one renewal of a token that was not taken, and the token shown."""
        token = await self._tokens.token()
        answer = await self._attempts(question, token)
        if answer.status == 401 and (other := await self._tokens.renewed(token)) is not None:
            return await self._attempts(question, other), other
        return answer, token

    async def _attempts(self, question: Question, token: str | None) -> Answer:
        """What is answered at last, with pauses of random length: gateways must not march in step."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = Request(question.method, f"{self._api}{question.target}", headers, question.body)
        for pause in _PAUSES:
            with suppress(Unreachable):
                answer = await self._transport.send(request)
                if answer.status not in _PASSING or (answer.retry_after or 0) > pause:
                    return answer
            await anyio.sleep(random.uniform(0, pause))  # noqa: S311 (no secret depends on it)
        return await self._transport.send(request)

    def _error(self, question: Question, answer: Answer, refused: Refused) -> Exception:
        if answer.status == 401:
            return Unavailable(
                f"the catalog '{self.name}' does not accept the gateway's token; ask its operator",
                detail=refused.detail,
            )
        meant = 400 <= answer.status <= 501 and answer.status not in _PASSING
        return refused if meant else self.unavailable(refused.detail)
