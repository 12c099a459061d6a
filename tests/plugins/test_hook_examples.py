"""The example in each hook's reference is a plugin that works."""

from __future__ import annotations

import inspect
import logging
import re
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner
from sqlalchemy import text
from starlette.applications import Starlette
from support.process.installed import Site
from support.servers.migrated import new_sqlite

from sluicegate.api import (
    ClientCertificate,
    ConsoleFacts,
    ConsoleRequest,
    DelegatedTask,
    Event,
    NotFound,
    Principal,
    Share,
    SharedTable,
    TableIdentity,
    TemporaryCredentials,
)
from sluicegate.database import Store
from sluicegate.plugins import Registry, hookspecs
from sluicegate_testing.fakes import FakeContext, FakeLinks, authentication_request

HOOKS = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("sluicegate_")}
ACME = Principal("1", "acme", "bearer")
CONTEXT: Any = FakeContext()


def example_of(hook: str) -> str:
    text = inspect.cleandoc(HOOKS[hook].__doc__)
    called, _, example = text.partition("\nCalled:\n")[2].partition("\nExample:\n")
    assert called.strip(), f"{hook} has to say when it is called"
    assert "@hookimpl" in example, f"{hook} has to show an example"
    return textwrap.dedent(example)


@pytest.fixture
def registry(site: Site, request: pytest.FixtureRequest) -> Registry:
    """The example of a hook, installed as the plugin `acme`."""
    hook = f"sluicegate_{request.param}"
    code = example_of(hook)
    assert f"def {hook}(" in code
    site.install("acme", code)
    return Registry.load(["acme"])


def of(hook: str) -> pytest.MarkDecorator:
    TESTED.add(f"sluicegate_{hook}")
    return pytest.mark.parametrize("registry", [hook], indirect=True)


TESTED: set[str] = set()


class Services:
    """What the examples use of `GatewayServices`."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.counted: list[str] = []
        self.telemetry = SimpleNamespace(count=self.counted.append)
        self.tables = SimpleNamespace(shares=self._shares)

    async def authenticate(self, scope: Any) -> Principal:
        return ACME

    def http_client(self, *, timeout: float) -> float:
        return timeout

    async def _shares(self, principal: Principal) -> list[Share]:
        return [Share("1", f"of {principal.name}")]


@of("register_settings")
def test_settings(registry: Registry) -> None:
    (model,) = registry.types.settings.values()
    assert model.model_validate({}).model_dump() == {"endpoint": "https://audit.example.com"}


@of("register_catalogs")
async def test_a_catalog(registry: Registry) -> None:
    known = registry.types.catalogs["acme"]
    catalog = known.factory(known.config(), CONTEXT)
    assert (await catalog.list_schemas(), await catalog.list_tables("eu")) == (["eu"], ["orders"])
    table = await catalog.load_table(catalog.identifier("eu", "orders"))
    assert table.location == "s3://acme-lake/eu/orders"
    with pytest.raises(NotFound):
        await catalog.load_table("eu.other")


@of("register_storage")
async def test_a_storage(registry: Registry) -> None:
    known = registry.types.storage["acme"]
    context: Any = SimpleNamespace(name="acme-1", links=FakeLinks("acme://lake/"))
    storage = known.factory(known.config(prefix="acme://lake/"), context)
    (url,) = (await storage.presign(["acme://lake/a b"], 60)).urls
    assert context.links.location_of(url) == "acme://lake/a b"


@of("register_formats")
def test_a_format(registry: Registry) -> None:
    assert registry.types.formats["acme-format"].factory() is not None


@of("register_authenticators")
async def test_an_authenticator(registry: Registry) -> None:
    known = registry.types.authenticators["acme"]
    authenticator = known.factory(known.config(), CONTEXT)
    shown = ClientCertificate("CN=acme", "CN=ca", 1, "00", 0, 1, common_names=("acme",))
    found = await authenticator.authenticate(authentication_request(certificate=shown))
    assert found is not None
    assert found.name == "acme"
    assert await authenticator.authenticate(authentication_request()) is None


@of("register_policies")
async def test_a_policy(registry: Registry) -> None:
    known = registry.types.policies["acme"]
    drafts, eu = (
        SharedTable(schema, "sales", "1", schema, "orders", "main", "x") for schema in ("drafts", "eu")
    )
    policy = known.factory(known.config(), CONTEXT)
    assert await policy.allowed(ACME, "read", frozenset({drafts, eu})) == {eu}


@of("register_capabilities")
def test_capabilities(registry: Registry) -> None:
    assert registry.types.capabilities == {"acme-audit": "full"}


@of("register_task_executors")
async def test_a_task_executor(registry: Registry) -> None:
    known = registry.types.task_executors["acme"]
    task = DelegatedTask("1", "acme-check", "realm", TableIdentity("1", "main", ("eu",), "orders"))
    run: Any = None
    result = await known.factory(known.config(), CONTEXT).run(task, None, run)
    assert "orders" in result.summary


@of("register_token_bindings")
def test_a_token_binding(registry: Registry) -> None:
    secret = {"access_key_id": "a", "secret_access_key": "b", "session_token": "c"}
    credentials = TemporaryCredentials("s3://lake/t", "aws", secret, 1)
    marshalled = registry.types.token_bindings["acme"].marshal(credentials)
    assert (marshalled.access_key, marshalled.session_token) == ("a", "c")


@of("register_routes")
async def test_routes(registry: Registry) -> None:
    services: Any = Services()
    app = Starlette(routes=registry.routes(lambda _: services))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        assert (await http.get("/acme/shares")).json() == ["of acme"]


@of("register_commands")
def test_a_command(registry: Registry) -> None:
    group = click.Group()
    services: Any = None
    registry.commands(group, lambda _: services)
    assert CliRunner().invoke(group, ["acme"]).output == "hello\n"


@of("register_operations")
def test_operations(registry: Registry) -> None:
    assert registry.types.operations == {"GET /acme/shares/{share}": "acme.getShare"}


@of("register_migrations")
async def test_a_migration(registry: Registry, tmp_path: Path) -> None:
    store = await Store.open(new_sqlite(tmp_path / "acme.db"))
    try:
        await store.migrate_plugins(registry.types.migrations)
        async with store.read() as connection:
            assert not (await connection.execute(text("SELECT share, text FROM acme_notes"))).all()
    finally:
        await store.aclose()


@of("register_console_pages")
async def test_a_page(registry: Registry) -> None:
    services: Any = SimpleNamespace(public_url="https://share.example")
    [page] = registry.console_pages(lambda _: services)["acme"]
    [facts] = await page.show(ConsoleRequest("ada", "viewer", {}))
    assert facts == ConsoleFacts({"Address of the gateway": "https://share.example"})


@of("wrap_app")
async def test_a_wrapper(registry: Registry) -> None:
    services: Any = Services()
    reached: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope)

    nothing: Any = None
    await registry.wrap_app(app, lambda _: services)({"type": "http"}, nothing, nothing)
    assert (reached, services.counted) == ([{"type": "http"}], ["requests"])


@of("lifespan")
async def test_a_lifespan(registry: Registry) -> None:
    services: Any = Services()
    (lifespan,) = registry.lifespans(lambda _: services)
    async with lifespan:
        assert services.state == {"client": 5}
    assert services.state == {}


@of("on_event")
async def test_a_listener(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        registry.notify(Event("issued.urls", 1, ACME))
        registry.notify(Event("acme.started", 1))
        await registry.aclose()
    assert caplog.messages == ["issued.urls: acme", "acme.started: nobody"]


def test_each_hook_has_an_example_that_is_run() -> None:
    assert set(HOOKS) == TESTED


def test_examples_import_only_what_a_plugin_may_import() -> None:
    for hook in HOOKS:
        modules = re.findall(r"^(?:from|import) (\S+)", example_of(hook), re.MULTILINE)
        assert {name for name in modules if name.startswith("sluicegate")} == {"sluicegate.api"}
