"""Routes and lifespans of plugins receive what a plugin needs, and nothing of the gateway's own."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from support.process.installed import CATALOG, Site, installed_site

from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api import ConfigurationError, Principal
from sluicegate.api.errors import Unauthenticated
from sluicegate.app import Gateway
from sluicegate.config import Settings, load_settings
from sluicegate.database import Store
from sluicegate.plugins import Registry, configure
from sluicegate.telemetry import metrics

ROUTES = """
from contextlib import asynccontextmanager
from starlette.responses import JSONResponse
from starlette.routing import Route
from sluicegate.api import Event, PluginConfig, SecretStr, hookimpl

class Settings(PluginConfig):
    motto: str = "none"
    token: SecretStr = SecretStr("")

@hookimpl
def sluicegate_register_settings():
    return Settings

@hookimpl
def sluicegate_register_routes(services):
    async def tables(request):
        principal = await services.authenticate(request.scope)
        with services.telemetry.span("list"):
            found = await services.tables.tables(principal, "sales", "eu")
            one = await services.tables.table(principal, "SALES", "eu", found[0].name)
        services.telemetry.count("listed", len(found))
        services.publish(Event("listed", 1, principal))
        return JSONResponse({
            "recipient": principal.name, "tables": [table.name for table in found], "one": one.id,
            "shares": [share.name for share in await services.tables.shares(principal)],
            "schemas": [each.name for each in await services.tables.schemas(principal, "sales")],
        })

    async def about(request):
        return JSONResponse({
            "name": services.name, "motto": services.settings.motto, "url": services.public_url,
            "started": services.state["started"],
        })

    async def length(request):
        return JSONResponse(len(await request.body()))

    return [
        Route("/extra/tables", tables), Route("/extra/about", about),
        Route("/extra/length", length, methods=["POST"]),
    ]

@hookimpl
def sluicegate_lifespan(services):
    @asynccontextmanager
    async def running():
        services.state["client"] = services.http_client(timeout=5)
        services.state["started"] = True
        yield
        services.state["started"] = False
    return running()

@hookimpl
def sluicegate_wrap_app(app, services):
    services.state["wrapped"] = True
    return app

@hookimpl
def sluicegate_on_event(event):
    raise AssertionError("a plugin does not receive its own events")
"""
LISTENER = """
from sluicegate.api import hookimpl
heard = []

@hookimpl
def sluicegate_on_event(event):
    heard.append((event.kind, event.principal.name))

@hookimpl
def sluicegate_register_routes(services):
    assert services.settings is None
    return []
"""
SHARES = """
shares:
  sales: {schemas: {eu: {tables: {orders: {catalog: main, table: eu.orders}}}}}
  other: {schemas: {eu: {tables: {hidden: {catalog: main, table: eu.hidden}}}}}
recipients:
  acme: {shares: [sales]}
  nobody: {}
"""
Serve = Callable[..., AbstractAsyncContextManager[tuple[Gateway, httpx.AsyncClient]]]


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with installed_site(tmp_path_factory.mktemp("site")) as site:
        site.install("extra", ROUTES)
        site.install("listener", LISTENER)
        site.install("main", CATALOG)
        yield site


def settings_of(folder: Path, *plugins: Any) -> Settings:
    return Settings.model_validate(
        {
            "database": f"sqlite:///{folder}/sluicegate.db",
            "catalogs": {"main": {"type": "main", "uri": "x"}},
            "plugins": plugins,
        }
    )


@pytest.fixture
def serve(site: Site, tmp_path: Path) -> Serve:
    """A gateway with some entries of `plugins:`, and a client of it."""

    @asynccontextmanager
    async def serving(*plugins: Any) -> AsyncIterator[tuple[Gateway, httpx.AsyncClient]]:
        async with Gateway.running(settings_of(tmp_path, *plugins)) as gateway:
            transport = httpx.ASGITransport(gateway.asgi())
            async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
                yield gateway, http

    return serving


@pytest.fixture
async def tokens(tmp_path: Path) -> dict[str, str]:
    """The headers of the declared recipients."""
    store = await Store.open(f"sqlite:///{tmp_path}/sluicegate.db")
    try:
        (tmp_path / "shares.yaml").write_text(SHARES)
        await apply_shares_file(store, read_shares_file(tmp_path / "shares.yaml", {"main"}))
        recipients = Recipients(store, token_lifetime=100, rotation_grace=0)
        issued = {name: await recipients.rotate(name) for name in ("acme", "nobody")}
    finally:
        await store.aclose()
    return {name: f"Bearer {credential.secret}" for name, credential in issued.items()}


async def test_a_route_sees_what_the_sender_of_a_request_sees(
    serve: Serve, tokens: dict[str, str]
) -> None:
    async with serve("extra") as (_, http):
        answer = await http.get("/extra/tables", headers={"Authorization": tokens["acme"]})
        refused = await http.get("/extra/tables", headers={"Authorization": tokens["nobody"]})
        unknown = await http.get("/extra/tables")
    found = answer.json()
    assert len(found.pop("one")) == 36
    assert found == {
        **{"recipient": "acme", "tables": ["orders"], "shares": ["sales"], "schemas": ["eu"]}
    }
    assert (refused.status_code, refused.json()["errorCode"]) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert (unknown.status_code, unknown.headers["WWW-Authenticate"]) == (401, "Bearer")


async def test_a_plugin_has_settings_and_state_of_its_own(serve: Serve) -> None:
    async with serve({"type": "extra", "motto": "hello"}, "listener") as (gateway, http):
        about = (await http.get("/extra/about")).json()
        services = gateway.services["extra"]
        assert services.state["wrapped"] is True
        assert gateway.services["listener"].state == {}
    url = "http://127.0.0.1:8080"
    assert about == {"name": "extra", "motto": "hello", "url": url, "started": True}
    assert services.state["started"] is False


async def test_a_plugin_gets_no_part_of_the_gateway_with_its_services(serve: Serve) -> None:
    async with serve("extra") as (gateway, _):
        offered = {name for name in dir(gateway.services["extra"]) if not name.startswith("_")}
    assert offered == {
        *("name", "settings", "state", "public_url", "database", "tables", "telemetry"),
        *("authenticate", "publish", "http_client", "aclose"),
    }


async def test_published_events_reach_the_other_plugins_under_the_plugins_name(
    serve: Serve, tokens: dict[str, str]
) -> None:
    async with serve("extra", "listener") as (_, http):
        await http.get("/extra/tables", headers={"Authorization": tokens["acme"]})
        heard = sys.modules["plugin_listener"].heard
    assert ("extra.listed", "acme") in heard


async def test_bodies_of_requests_to_a_plugin_have_the_limit_of_recipients(serve: Serve) -> None:
    async with serve("extra") as (gateway, http):
        longest = gateway.parts.settings.limits.request_body.sharing
        sizes = (longest, longest + 1)
        sent = [await http.post("/extra/length", content=b"x" * size) for size in sizes]
    assert [each.status_code for each in sent] == [200, 413]


async def test_counters_of_a_plugin_carry_its_name(serve: Serve, tokens: dict[str, str]) -> None:
    reader = InMemoryMetricReader()
    metrics.enable(MeterProvider([reader]).get_meter("sluicegate"))
    try:
        async with serve("extra") as (gateway, http):
            for _ in range(2):
                await http.get("/extra/tables", headers={"Authorization": tokens["acme"]})
            with pytest.raises(ValueError, match="must be named with"):
                gateway.services["extra"].telemetry.count("a b")
        data: Any = reader.get_metrics_data()
    finally:
        metrics.disable()
    (counter,) = (
        metric
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
        if metric.name == "sluicegate.plugin.extra.listed"
    )
    assert [point.value for point in counter.data.data_points] == [2]


async def test_http_clients_of_a_plugin_are_closed_when_the_gateway_stops(serve: Serve) -> None:
    async with serve("extra") as (gateway, _):
        client = gateway.services["extra"].state["client"]
        session = client._opened()
    assert session.closed


@pytest.mark.parametrize(
    ("plugins", "problem"),
    [
        ([{"type": "extra", "mott": "x"}], "mott"),
        ([{"type": "listener", "motto": "x"}], "the plugin 'listener' has no settings"),
        (["extra", "extra"], "the plugin 'extra' is listed twice"),
    ],
)
def test_settings_of_a_plugin_are_checked(
    site: Site, tmp_path: Path, plugins: list[Any], problem: str
) -> None:
    (tmp_path / "gateway.yaml").write_text(json.dumps({"plugins": plugins}))
    settings = load_settings(tmp_path / "gateway.yaml")
    with pytest.raises(ConfigurationError) as caught:
        configure(settings, Registry.load(settings))
    assert problem in caught.value.message


def test_a_model_of_settings_that_is_none_is_refused(site: Site) -> None:
    site.install("odd", ROUTES.replace("class Settings(PluginConfig)", "class Settings"))
    with pytest.raises(ConfigurationError, match="has to be a PluginConfig"):
        Registry.load(["odd"])


def reads(gateway: Gateway, principal: Principal) -> list[Awaitable[object]]:
    """What a plugin can read for a principal."""
    tables = gateway.services["extra"].tables
    return [
        tables.shares(principal),
        tables.schemas(principal, "sales"),
        tables.tables(principal, "sales", "eu"),
        tables.table(principal, "sales", "eu", "orders"),
    ]


async def test_a_principal_that_a_plugin_keeps_sees_nothing_after_its_revocation(
    serve: Serve, tokens: dict[str, str]
) -> None:
    async with serve("extra") as (gateway, _):
        record = await gateway.parts.grants.recipient("acme")
        assert record is not None
        kept = Principal(record.id, "acme", "test")
        for reading in reads(gateway, kept):
            assert await reading
        for reading in reads(gateway, replace(kept, name="nobody")):
            with pytest.raises(Unauthenticated, match="no longer exists"):
                await reading
        await Recipients(gateway.parts.store, token_lifetime=100, rotation_grace=0).revoke("acme")
    async with serve("extra") as (gateway, _):
        for reading in reads(gateway, kept):
            with pytest.raises(Unauthenticated, match="was revoked"):
                await reading


NOTING = """
import asyncio
from contextlib import asynccontextmanager
from sluicegate.api import hookimpl
noted, kept = [], []

@hookimpl
def sluicegate_lifespan(services):
    @asynccontextmanager
    async def running():
        kept.append(services.http_client(timeout=5))
        yield
        kept.clear()
    return running()

@hookimpl
async def sluicegate_on_event(event):
    await asyncio.sleep(0.05)
    noted.append((event.kind, kept and kept[0]._opened().closed))
"""


async def test_events_are_processed_before_the_plugins_stop(
    site: Site, serve: Serve, tokens: dict[str, str]
) -> None:
    site.install("noting", NOTING)
    async with serve("extra", "noting") as (_, http):
        await http.get("/extra/tables", headers={"Authorization": tokens["acme"]})
    assert sys.modules["plugin_noting"].noted == [("extra.listed", False)]


WRAPPER = """
from sluicegate.api import hookimpl

@hookimpl
def sluicegate_wrap_app(app, services):
    async def auditing(scope, receive, send):
        await services.authenticate(scope)
        await services.authenticate(scope)
        await app(scope, receive, send)
    return auditing
"""


async def test_a_wrapper_that_authenticates_takes_no_second_slot(
    site: Site, tmp_path: Path, tokens: dict[str, str]
) -> None:
    site.install("auditing", WRAPPER)
    settings = settings_of(tmp_path, "auditing")
    limits = {"max_requests_per_recipient": 2, "queue_timeout": 0}
    settings = Settings.model_validate(settings.model_dump() | {"server": limits})
    async with Gateway.running(settings) as gateway:
        transport = httpx.ASGITransport(gateway.asgi())
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
            headers = {"Authorization": tokens["acme"]}
            for _ in range(4):
                answer = await http.get("/delta-sharing/shares", headers=headers)
                assert answer.status_code == 200
