"""The router with an index serves each request as Starlette's own router does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from support.servers.migrated import new_sqlite

from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.http.application import IndexedRouter, RouteIndex


def named(name: str) -> Route:
    """A route that responds with its own template and its parameters."""

    async def respond(request: Request) -> Response:
        return PlainTextResponse(f"{name} {sorted(request.path_params.items())}")

    return Route(name, respond)


ROUTES: list[BaseRoute] = [
    named("/shares"),
    named("/shares/{share}"),
    named("/shares/all"),  # never served: the route before matches, too
    named("/shares/{share}/tables/{table}/query"),
    named("/shares/{share}/tables/{table:path}"),
    named("/{anything}/tables"),
    named("/numbers/{number:int}"),
    named("/numbers/{number:path}/end"),
    Mount("/files", routes=[named("/{path:path}")]),
    named("/shares/{share}.json"),
    named("/{rest:path}/last"),
]
SEGMENTS = (
    *("", "shares", "all", "s", "tables", "query"),
    *("numbers", "7", "end", "files", "x.json", "last"),
)
paths = (
    st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=7)
    .filter(lambda some: len(some) == 1 or some[0] != "")  # httpx takes `//x` for a host
    .map(lambda some: "/" + "/".join(some))
)


def http(app: Starlette) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway")


def indexed() -> Starlette:
    app = Starlette()
    app.router = IndexedRouter(ROUTES)
    return app


def plain() -> Starlette:
    app = Starlette(routes=ROUTES)
    app.router.redirect_slashes = False
    return app


@settings(max_examples=300, deadline=None)
@given(path=paths, method=st.sampled_from(["GET", "POST", "HEAD"]))
async def test_requests_get_the_same_response(path: str, method: str) -> None:
    async with http(indexed()) as ours, http(plain()) as starlettes:
        answers = [await client.request(method, path) for client in (ours, starlettes)]
    first, second = ((each.status_code, each.text, dict(each.headers)) for each in answers)
    assert first == second


@pytest.mark.parametrize("root_path", ["", "/gate"])
async def test_a_root_path_is_not_part_of_what_routes_match(root_path: str) -> None:
    transport = httpx.ASGITransport(indexed(), root_path=root_path)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        answer = await client.get(f"{root_path}/shares/sales")
    assert answer.text == "/shares/{share} [('share', 'sales')]"


def test_the_index_does_not_grow_with_what_clients_request() -> None:
    index = RouteIndex(ROUTES)
    for number in range(1000):
        index.candidates({"path": "/" + "/".join([f"unknown{number}"] * (number % 50))})
    assert len(index._found) <= len(SEGMENTS)


@pytest.fixture
async def routes(tmp_path: Path) -> AsyncIterator[list[BaseRoute]]:
    """All routes of a gateway."""
    config = {
        "public_url": "https://share.example",
        "database": new_sqlite(tmp_path / "sluicegate.db"),
        "catalogs": {"raw": {"type": "paths"}},
        "admin": {},
        "console": {},
    }
    async with Gateway.running(Settings.model_validate(config)) as gateway:
        yield gateway.routes()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_each_route_of_a_gateway_is_a_candidate_for_its_paths(
    routes: list[BaseRoute], data: st.DataObject
) -> None:
    index = RouteIndex(routes)
    route = data.draw(st.sampled_from([each for each in routes if isinstance(each, Route)]))
    segments = [
        data.draw(st.sampled_from(["sales", "eu", "v1", "7", "query", "a.b"])) if "{" in each else each
        for each in route.path.split("/")
    ]
    path = "/".join(segments)
    for method in ("GET", "POST", "DELETE"):
        scope = {"type": "http", "path": path, "method": method}
        found = [
            next((each for each in some if each.matches(scope)[0] is Match.FULL), None)
            for some in (routes, index.candidates(scope))
        ]
        assert found[0] is found[1]


async def test_few_routes_of_a_gateway_are_tried(routes: list[BaseRoute]) -> None:
    index = RouteIndex(routes)
    table = "/iceberg/v1/shares/sales/namespaces/eu/tables/orders"
    for path in (f"{table}/sign", "/delta-sharing/shares", "/admin/v1/shares"):
        assert len(index.candidates({"path": path})) < 8
