"""Sends one request to the server, and translates its errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Self

from sluicegate.api import (
    AuthorizedClient,
    HttpClient,
    HttpRequest,
    HttpResponse,
    NoResponse,
    SharedTable,
    Unavailable,
)
from sluicegate_opa.documents import (
    InvalidDecision,
    Subject,
    allowed_positions,
    input_document,
    reason,
)

if TYPE_CHECKING:
    from sluicegate_opa.config import OpaConfig

_LONGEST: Final = 1 << 20  # bytes; 10,000 positions are less than a tenth
# One core of the server decides about some thousand sets of tables in a second.
_CONNECTIONS: Final = 16
# Shorter than for catalogs: recipients wait for each decision, and the server is usually nearby.
_PAUSES: Final = (0.1, 0.4)


class OpaClient:
    """A client of one rule."""

    def __init__(self, name: str, url: str, http: AuthorizedClient) -> None:
        self._name = name
        self._url = url
        self._http = http

    @classmethod
    def configured(cls, name: str, config: OpaConfig) -> Self:
        """Return the client for a section of the configuration, without connecting to the server."""
        http = HttpClient(
            timeout=config.timeout,
            connections=_CONNECTIONS,
            longest=_LONGEST,
            pauses=_PAUSES,
        )
        url = f"{config.url}/v1/data/{config.path}"
        return cls(name, url, AuthorizedClient(http, config.token))

    async def allowed(self, subject: Subject, tables: Sequence[SharedTable]) -> frozenset[SharedTable]:
        """Return the tables that the rule allows, of the tables in one request."""
        # A decision changes nothing, so the request can be sent again.
        request = HttpRequest("POST", self._url, json=input_document(subject, tables), idempotent=True)
        try:
            answer = await self._http.send(request)
            if answer.status != 200:
                raise self._refusal(answer)
            positions = await answer.parsed(lambda content: allowed_positions(content, len(tables)))
        except (NoResponse, InvalidDecision) as error:
            raise self._unavailable(str(error)) from error
        return frozenset(tables[position] for position in positions)

    @staticmethod
    def preload() -> None:
        """Import the library that sends requests."""
        HttpClient.preload()

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    def _refusal(self, answer: HttpResponse) -> Unavailable:
        said = answer.redacted(reason(answer.content)) or "no error document"
        hint = ": check 'token'" if answer.status in (401, 403) else ""
        return self._unavailable(f"status {answer.status} ({said}){hint}")

    def _unavailable(self, detail: str) -> Unavailable:
        return Unavailable(
            f"the policy '{self._name}' cannot decide now; try again later",
            detail=f"data.{self._url.partition('/v1/data/')[2].replace('/', '.')}: {detail}",
        )
