"""Sends requests to an Iceberg REST catalog, and validates its responses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from sluicegate.api import (
    AuthorizedClient,
    HttpRequest,
    HttpResponse,
    NoResponse,
    OutcomeUnknown,
    SecretStr,
    Unavailable,
)
from sluicegate_iceberg.rest.refusal import CommitStateUnknown, Refused
from sluicegate_iceberg.rest.responses import CatalogResponse, Page

_Model = TypeVar("_Model", bound=CatalogResponse)
_PageModel = TypeVar("_PageModel", bound=Page)

_MAX_PAGES = 10_000
_MAX_BYTES = 256 << 20  # of all pages of a listing; a million tables take some hundred megabytes
_LONGEST_TOKEN = 8192  # characters; URLs can't contain longer tokens


class Rest:
    """Sends requests to one catalog."""

    def __init__(
        self,
        catalog: str,
        http: AuthorizedClient,
        headers: Mapping[str, SecretStr],
    ) -> None:
        self._catalog = catalog
        self._http = http
        self._headers = headers

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """Return the response to a GET request, with status 200 or 304."""
        answer = await self._send(HttpRequest("GET", url, headers or {}))
        conditional = headers is not None and "If-None-Match" in headers
        if answer.status == 200 or (answer.status == 304 and conditional):
            return answer
        raise Refused(self._catalog, url, answer)

    async def post(self, url: str, document: Mapping[str, Any]) -> None:
        """Send a change, without retries. For changes that must be applied, see `commits.once`."""
        await self._change(HttpRequest("POST", url, json=document, idempotent=False))

    async def delete(self, url: str) -> None:
        """Send a DELETE request, without retries. Raises the same errors as `post`.

        A second request could delete an object that was created under the same name in between.
        """
        await self._change(HttpRequest("DELETE", url, idempotent=False))

    async def ask(
        self, url: str, model: type[_Model], headers: Mapping[str, str] | None = None
    ) -> _Model:
        """Return the response to a GET request, parsed as `model`."""
        return await self.read(url, await self.get(url, headers), model)

    async def read(self, url: str, answer: HttpResponse, model: type[_Model]) -> _Model:
        """Return the body of a response, parsed as `model`."""
        try:
            return await answer.parsed(model.model_validate_json)
        except NoResponse as error:
            raise self._unavailable(str(error)) from error
        except ValidationError as error:
            wrong = "; ".join(f"{_place(each['loc'])}: {each['type']}" for each in error.errors()[:5])
            raise self._unavailable(
                f"{url}: the response is not a valid {model.__name__}: {wrong}"
            ) from None

    async def pages(self, url: str, model: type[_PageModel]) -> AsyncIterator[_PageModel]:
        """Yield the pages of a listing."""
        seen: set[str] = set()
        mark, asked, left = "&" if "?" in url else "?", url, _MAX_BYTES
        while True:
            answer = await self.get(asked)
            left -= len(answer.content)
            page = await self.read(url, answer, model)
            token = page.next_page_token
            endless = token in seen or len(seen) == _MAX_PAGES or left < 0
            if endless or len(token or "") > _LONGEST_TOKEN:
                raise self._unavailable(f"{url}: the listing never ends")
            yield page
            if not token:
                return
            seen.add(token)
            asked = f"{url}{mark}pageToken={quote(token, safe='')}"

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def _change(self, request: HttpRequest) -> None:
        answer = await self._send(request)
        if answer.status in (200, 204):
            return
        refused = Refused(self._catalog, request.url, answer)
        if refused.leaves_unknown:
            raise CommitStateUnknown(self._catalog, refused.detail or "") from refused
        raise refused

    async def _send(self, request: HttpRequest) -> HttpResponse:
        own = {name: value.get_secret_value() for name, value in self._headers.items()}
        try:
            return await self._http.send(replace(request, headers={**own, **request.headers}))
        except OutcomeUnknown as error:
            raise CommitStateUnknown(self._catalog, str(error)) from error
        except NoResponse as error:
            raise self._unavailable(str(error)) from error

    def _unavailable(self, detail: str) -> Unavailable:
        return Unavailable(
            f"the catalog '{self._catalog}' does not respond now; try again later", detail=detail
        )


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "the body"
