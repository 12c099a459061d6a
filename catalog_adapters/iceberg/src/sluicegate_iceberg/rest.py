"""Questions to an Iceberg REST catalog: authorized, checked for their shape, page after page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from sluicegate.api import AuthorizedClient, HttpAnswer, HttpRequest, NoAnswer, SecretStr, Unavailable
from sluicegate_iceberg.answers import CatalogAnswer, Page
from sluicegate_iceberg.refusal import Refused

_Model = TypeVar("_Model", bound=CatalogAnswer)
_PageModel = TypeVar("_PageModel", bound=Page)

_MAX_PAGES = 10_000
_MAX_BYTES = 256 << 20  # of all pages of a listing; a million tables have some hundred megabytes
_LONGEST_TOKEN = 8192  # characters: URLs cannot carry longer ones


class Rest:
    """Asks one catalog.

    Args:
        catalog: Its name in the configuration, for messages.
        http: Reaches it, and shows who asks.
        headers: To send with each request.
    """

    def __init__(
        self,
        catalog: str,
        http: AuthorizedClient,
        headers: Mapping[str, SecretStr],
    ) -> None:
        self._catalog = catalog
        self._http = http
        self._headers = headers

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """One answer, with status 200 or 304.

        Raises:
            Refused: The catalog answers another status.
            Unavailable: It does not answer.
        """
        answer = await self._send(HttpRequest("GET", url, headers or {}))
        conditional = headers is not None and "If-None-Match" in headers
        if answer.status == 200 or (answer.status == 304 and conditional):
            return answer
        raise Refused(self._catalog, url, answer)

    async def post(self, url: str, document: Mapping[str, Any]) -> None:
        """Change something; it may be sent twice where an answer is lost.

        Raises:
            Refused: The catalog answers another status than 200 or 204.
            Unavailable: It does not answer.
        """
        await self._change(HttpRequest("POST", url, json=document))

    async def delete(self, url: str) -> None:
        """Delete something; raises as `post` does."""
        await self._change(HttpRequest("DELETE", url))

    async def ask(
        self, url: str, model: type[_Model], headers: Mapping[str, str] | None = None
    ) -> _Model:
        """One answer of a shape.

        Raises:
            Refused: The catalog refuses.
            Unavailable: It does not answer, or nothing of that shape.
        """
        return await self.read(url, await self.get(url, headers), model)

    async def read(self, url: str, answer: HttpAnswer, model: type[_Model]) -> _Model:
        """The body of an answer.

        Raises:
            Unavailable: It has not that shape, or is too large.
        """
        try:
            return await answer.parsed(model.model_validate_json)
        except NoAnswer as error:
            raise self._unavailable(str(error)) from error
        except ValidationError as error:
            wrong = "; ".join(f"{_place(each['loc'])}: {each['type']}" for each in error.errors()[:5])
            raise self._unavailable(f"{url}: no {model.__name__}: {wrong}") from None

    async def pages(self, url: str, model: type[_PageModel]) -> AsyncIterator[_PageModel]:
        """The pages of a listing: one, unless the catalog offers another.

        Raises:
            Refused: The catalog refuses.
            Unavailable: It does not answer, or its pages have no end.
        """
        seen: set[str] = set()
        mark, asked, left = "&" if "?" in url else "?", url, _MAX_BYTES
        while True:
            answer = await self.get(asked)
            left -= len(answer.content)
            page = await self.read(url, answer, model)
            token = page.next_page_token
            endless = token in seen or len(seen) == _MAX_PAGES or left < 0
            if endless or len(token or "") > _LONGEST_TOKEN:
                raise self._unavailable(f"{url}: the pages of the listing have no end")
            yield page
            if not token:
                return
            seen.add(token)
            asked = f"{url}{mark}pageToken={quote(token, safe='')}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _change(self, request: HttpRequest) -> None:
        answer = await self._send(request)
        if answer.status not in (200, 204):
            raise Refused(self._catalog, request.url, answer)

    async def _send(self, request: HttpRequest) -> HttpAnswer:
        own = {name: value.get_secret_value() for name, value in self._headers.items()}
        try:
            return await self._http.send(replace(request, headers={**own, **request.headers}))
        except NoAnswer as error:
            raise self._unavailable(str(error)) from error

    def _unavailable(self, detail: str) -> Unavailable:
        return Unavailable(
            f"the catalog '{self._catalog}' does not answer now; try again later", detail=detail
        )


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "the body"
