"""A small server that plugins under test use, and a correct client of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sluicegate.api import (
    HttpClient,
    HttpRequest,
    HttpResponse,
    NoResponse,
    NotFound,
    SecretStr,
    Unavailable,
)
from sluicegate_testing.servers.catalog_http import Reply, Request, serve

TOKEN = "a-token-of-the-inventory"
PAGE_SIZE = 2
ICEBERG = "visits"
LAKE = "s3://lake"

_NAMES = {
    "eu": ["a b", "größe", "orders", "returns", ICEBERG],
    "us": ["orders"],
    "xx": ["orders"],
}
SCHEMAS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    schema: {
        name: {
            "id": f"id of {schema} {name}",
            "type": "ICEBERG" if name == ICEBERG else "DELTA",
            "location": f"{LAKE}/{schema}/{name}/",
            **({"metadata": f"{LAKE}/{schema}/{name}/metadata/v3.json"} if name == ICEBERG else {}),
        }
        for name in names
    }
    for schema, names in _NAMES.items()
}


@contextmanager
def inventory() -> Iterator[str]:
    """Serve schemas and tables in pages, and the names of bearers, until the block ends; the URL."""
    ports: list[int] = []

    def at(port: int) -> Callable[[Request], Reply]:
        ports.append(port)
        return _answer

    with serve(at):
        yield f"http://127.0.0.1:{ports[0]}"


def _answer(request: Request) -> Reply:
    if request.headers.get("authorization") != f"Bearer {TOKEN}":
        return Reply(401, {"error": "who are you?"})
    match request.path:
        case "/schemas":
            return _page(sorted(SCHEMAS), request.query)
        case "/tables" if (schema := request.query.get("schema", "")) in SCHEMAS:
            return _page(sorted(SCHEMAS[schema]), request.query)
        case "/table":
            tables = SCHEMAS.get(request.query.get("schema", ""), {})
            table = tables.get(request.query.get("name", ""))
            return Reply(404, {}) if table is None else Reply(200, table)
        case "/sessions" if request.query.get("session", "").startswith("session-of-"):
            return Reply(200, {"name": request.query["session"].removeprefix("session-of-")})
        case "/regions":
            return Reply(200, {"hidden": ["eu"]})
        case _:
            return Reply(404, {})


def _page(names: list[str], query: Mapping[str, str]) -> Reply:
    left = [name for name in names if name > query.get("after", "")]
    page = left[:PAGE_SIZE]
    return Reply(200, {"names": page, "next": page[-1] if len(left) > PAGE_SIZE else None})


class Client:
    """A correct client: every failure of the server becomes an error of the plugin API."""

    def __init__(self, url: str, token: str = TOKEN) -> None:
        self.url = url
        self.token = SecretStr(token)
        self._http = HttpClient(timeout=10, connections=8, longest=1 << 20, pauses=())

    async def get(self, path: str, query: str = "") -> dict[str, Any]:
        """The JSON object of an answer."""
        try:
            answer = await self.send(path, query)
        except NoResponse as error:
            raise Unavailable(
                "the inventory does not respond; try again later", detail=str(error)
            ) from error
        if answer.status == 404:
            raise NotFound("the inventory has no such entry")
        return self.parsed(answer)

    async def send(self, path: str, query: str = "") -> HttpResponse:
        """The answer to a GET, whatever its status."""
        headers = {"Authorization": f"Bearer {self.token.get_secret_value()}"}
        return await self._http.send(HttpRequest("GET", f"{self.url}{path}?{query}", headers))

    def parsed(self, answer: HttpResponse) -> dict[str, Any]:
        """The object in an answer."""
        try:
            document = json.loads(answer.content)
        except ValueError:
            document = None
        if answer.status != 200 or not isinstance(document, dict) or "error" in document:
            raise Unavailable(
                "the inventory does not respond as expected; try again later",
                detail=f"status {answer.status}",
            )
        return document

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
