from __future__ import annotations

import asyncio
import logging
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from support.process.docs import ROOT
from support.process.installed import CATALOG, STORAGE, Site

from sluicegate.api import ConfigurationError, Event
from sluicegate.config import Settings
from sluicegate.config.model import PLUGIN_GROUP
from sluicegate.plugins import Registry, installed_plugins
from sluicegate.plugins.loading.installed import OWN_PLUGINS, find_plugin

EVENT = Event("query", 1)
HEAD = "from sluicegate.api import *\nfrom sluicegate.api import hookimpl\n"


def refusal(*names: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        Registry.load(names)
    return caught.value.message


def test_only_named_plugins_are_imported(site: Site) -> None:
    site.install("one", CATALOG)
    site.install("two", "raise SystemError('imported, though not enabled')")
    registry = Registry.load(["one"])
    assert [plugin.name for plugin in registry.plugins] == ["one"]
    assert list(registry.types.catalogs) == ["one"]


def test_finding_plugins_imports_none(site: Site) -> None:
    site.install("loud", "raise SystemError('imported')")
    found = {plugin.name: plugin for plugin in installed_plugins()}
    assert (found["loud"].distribution, found["loud"].version) == ("sluicegate-loud", "1.0")


@pytest.mark.parametrize(("name", "folder"), OWN_PLUGINS.items())
def test_an_own_plugin_that_is_missing_is_refused_with_how_to_install_it(
    name: str, folder: str
) -> None:
    remedy = f"in a clone of the gateway's repository, run pip install ./{folder}"
    with pytest.raises(ConfigurationError, match=f"'{name}' is enabled but not installed: {remedy}"):
        find_plugin(name, ())


@pytest.mark.parametrize(
    ("name", "close"),
    [("path", "paths"), ("unityy", "unity"), ("onne", "one"), ("acme-stores", None)],
)
def test_no_command_installs_a_name_that_anybody_can_register(
    site: Site, name: str, close: str | None
) -> None:
    site.install("one", CATALOG)
    message = refusal(name)
    assert f"plugin '{name}' is enabled but not installed; " in message
    assert "install " not in message
    assert close is None or message.endswith(f"did you mean '{close}'?")


def test_own_plugins_are_those_of_the_repository() -> None:
    projects = {
        path.parent.relative_to(ROOT).as_posix(): tomllib.loads(path.read_text())["project"]
        for folder in ("plugins", "catalog_adapters")
        for path in (ROOT / folder).glob("*/pyproject.toml")
    }
    assert {
        name: folder
        for folder, project in projects.items()
        for name in project.get("entry-points", {}).get(PLUGIN_GROUP, {})
    } == OWN_PLUGINS


def test_all_missing_plugins_are_reported_at_once_where_they_are_named(site: Site) -> None:
    settings = Settings.model_validate(
        {"catalogs": {"main": {"type": "absent-a"}}, "storage": [{"type": "absent-b"}]}
    )
    with pytest.raises(ConfigurationError) as caught:
        Registry.load(settings)
    assert ["absent-a" in line or "absent-b" in line for line in caught.value.message.splitlines()] == [
        True,
        True,
    ]


def test_two_distributions_of_one_plugin_are_refused_naming_both(site: Site) -> None:
    site.install("twin", CATALOG)
    site.install("twin", CATALOG, distribution="acme-twin", version="2.0")
    assert "sluicegate-twin 1.0" in refusal("twin")
    assert "acme-twin 2.0" in refusal("twin")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import no_such_module", "cannot be imported: ModuleNotFoundError: No module named"),
        ("raise ValueError('first\\nsecond')", "cannot be imported: ValueError: first"),
        (HEAD + "@hookimpl\ndef sluicegate_no_such_hook(): ...", "does not fit this gateway"),
        (
            HEAD + "@hookimpl\ndef sluicegate_register_catalogs(surprise): ...",
            "Argument(s) {'surprise'} are declared in the hookimpl",
        ),
        (HEAD + "@hookimpl\ndef sluicegate_register_catalogs(): 1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(0)", "cannot be imported: SystemExit: 0"),
        (HEAD + "@hookimpl\ndef sluicegate_register_catalogs(): exit()", "failed in"),
        (
            HEAD + "@hookimpl\ndef sluicegate_register_formats(): return FormatType('x', object)",
            "sluicegate_register_formats must return a list, not FormatType",
        ),
        (
            HEAD + "@hookimpl\ndef sluicegate_register_capabilities(): return ['x']",
            "sluicegate_register_capabilities must return a mapping, not list",
        ),
        (
            HEAD + "@hookimpl\ndef sluicegate_register_capabilities(): return {'x': 1}",
            "capability 'x' must be a text",
        ),
        (
            HEAD + "@hookimpl\ndef sluicegate_register_catalogs(): return ['x']",
            "returned a str, not a CatalogType",
        ),
        (
            CATALOG.replace("__name__.removeprefix('plugin_')", "").replace(
                "[CatalogType(", "[CatalogType('x' or "
            ),
            "registers 'x'; a type must have the name of its entry point",
        ),
        (
            CATALOG.replace("CatalogConfig", "PluginConfig"),
            "the configuration model has to be a CatalogConfig",
        ),
        (
            HEAD + "@hookimpl\ndef sluicegate_register_formats(): return [FormatType('delta', object)]",
            "format 'delta' is the gateway's own",
        ),
    ],
    ids=[
        "import",
        "one line",
        "unknown hook",
        "unknown argument",
        "failing hook",
        "exit of the module",
        "exit of a hook",
        "no list",
        "no mapping",
        "no text",
        "wrong type",
        "name",
        "configuration",
        "format",
    ],
)
def test_a_broken_plugin_is_refused_by_distribution_and_cause(
    site: Site, code: str, expected: str
) -> None:
    site.install("broken", code)
    message = refusal("broken")
    assert "'broken' (sluicegate-broken 1.0)" in message
    assert expected in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["issued", "issued.url"])
def test_no_plugin_has_a_name_that_makes_its_events_those_of_the_gateway(site: Site, name: str) -> None:
    site.install(name, HEAD)
    assert "no plugin can be called 'issued'" in refusal(name)


def test_two_plugins_of_one_format_are_refused_naming_both(site: Site) -> None:
    code = HEAD + "@hookimpl\ndef sluicegate_register_formats(): return [FormatType('hudi', object)]"
    site.install("alpha", code)
    site.install("beta", code)
    message = refusal("alpha", "beta")
    assert "'hudi' is registered by 'alpha' (sluicegate-alpha 1.0) and by 'beta'" in message


BINDING = HEAD + (
    "class Mine(TokenBinding):\n"
    "    name, kind = __name__.removeprefix('plugin_'), 'KIND'\n"
    "    hadoop_class, credentials = 'com.acme.Binding', None\n"
    "    def marshal(self, credentials): return MarshalledCredentials('key', 'secret')\n"
    "@hookimpl\ndef sluicegate_register_token_bindings(): return [Mine()]"
)


def test_token_bindings_are_collected_and_no_kind_is_made_by_two(site: Site) -> None:
    site.install("alpha", BINDING.replace("KIND", "Acme/Alpha"))
    site.install("beta", BINDING.replace("KIND", "Acme/Alpha"))
    site.install("gamma", BINDING.replace("KIND", "S3ADelegationToken/Role"))
    site.install("full", BINDING.replace("KIND", "Acme/Full"))
    assert Registry.load(["alpha"]).types.token_bindings["alpha"].kind == "Acme/Alpha"
    assert "tokens of kind Acme/Alpha are created by 'alpha', and by 'beta'" in refusal("alpha", "beta")
    assert "are created by the gateway's own binding 'role', and by 'gamma'" in refusal("gamma")
    assert "'full' is a built-in binding" in refusal("full")


CAPABILITY = HEAD + "@hookimpl\ndef sluicegate_register_capabilities(): return {'KEY': 'yes'}"


def test_capabilities_are_merged_and_clashes_refused(site: Site) -> None:
    code = CAPABILITY
    site.install("alpha", code.replace("KEY", "alpha"))
    site.install("beta", code.replace("KEY", "beta"))
    site.install("gamma", code.replace("KEY", "beta"))
    assert Registry.load(["alpha", "beta"]).types.capabilities == {"alpha": "yes", "beta": "yes"}
    assert "capability 'beta' is already registered" in refusal("beta", "gamma")


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("readerfeatures", "yes", "is the gateway's own"),
        ("Upper", "yes", "must be spelled with a-z"),
        ("a;b", "yes", "must be spelled with a-z"),
        ("mine", "Yes", "must have a value of lower-case"),
        ("mine", "a;b", "must have a value of lower-case"),
        ("mine", "a b", "must have a value of lower-case"),
        ("mine", "", "must have a value of lower-case"),
    ],
)
def test_a_capability_that_cannot_stand_in_the_header_is_refused(
    site: Site, key: str, value: str, problem: str
) -> None:
    site.install("alpha", CAPABILITY.replace("KEY", key).replace("yes", value))
    assert f"capability '{key}' {problem}" in refusal("alpha")


async def test_wrappers_apply_in_the_order_of_the_configuration(site: Site) -> None:
    code = HEAD + (
        "class Wrapped(tuple):\n    def __call__(self, *_): ...\n"
        "@hookimpl\ndef sluicegate_wrap_app(app, services): return Wrapped((__name__, app, services))"
    )
    for name in ("alpha", "beta"):
        site.install(name, code)

    async def app(scope: object, receive: object, send: object) -> None: ...

    def services(plugin: str) -> Any:
        return f"services of {plugin}"

    wrapped: object = Registry.load(["beta", "alpha"]).wrap_app(app, services)
    inner = ("plugin_beta", app, "services of beta")
    assert wrapped == ("plugin_alpha", inner, "services of alpha")


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("routes(services): return Route('/x', print)", "a list, not Route"),
        ("routes(services): return ['/x']", "routes of Starlette, not str"),
        ("app(app, services): return 'x'", "an ASGI application, not str"),
        ("app(app, services): app", "an ASGI application, not NoneType"),
        ("lifespan(services):\n    yield", "an asynchronous context manager, not generator"),
    ],
)
def test_what_a_hook_of_a_running_gateway_returns_is_checked(
    site: Site, definition: str, expected: str
) -> None:
    kind = {"routes": "register_", "app": "wrap_", "lifespan": ""}[definition.partition("(")[0]]
    code = f"{HEAD}from starlette.routing import Route\n@hookimpl\ndef sluicegate_{kind}{definition}\n"
    site.install("broken", code)
    registry = Registry.load(["broken"])

    async def app(scope: object, receive: object, send: object) -> None: ...

    def services(plugin: str) -> Any:
        return plugin

    def start() -> None:
        registry.wrap_app(app, services)
        registry.routes(services)
        registry.lifespans(services)

    with pytest.raises(ConfigurationError) as caught:
        start()
    assert caught.value.message.startswith("plugin 'broken' (sluicegate-broken 1.0): sluicegate_")
    assert caught.value.message.endswith(f"must return {expected}")


def test_plugins_add_commands(site: Site) -> None:
    site.install(
        "extra",
        HEAD + "import click\n@hookimpl\ndef sluicegate_register_commands(cli):\n"
        "    cli.add_command(click.Command('extra'))\n",
    )
    group = click.Group()
    services: Any = None
    Registry.load(["extra"]).commands(group, lambda _: services)
    assert list(group.commands) == ["extra"]


async def test_events_reach_every_listener_and_failures_disturb_nobody(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    note = tmp_path / "noted"
    site.install("bad", HEAD + "@hookimpl\ndef sluicegate_on_event(event): raise KeyError('hunter2')")
    site.install(
        "late", HEAD + "@hookimpl\nasync def sluicegate_on_event(event): raise OSError('hunter2')"
    )
    site.install(
        "good",
        HEAD + f"@hookimpl\nasync def sluicegate_on_event(event):\n"
        f"    __import__('pathlib').Path({str(note)!r}).write_text(event.kind)\n",
    )
    site.install("deaf", CATALOG)
    registry = Registry.load(["bad", "late", "deaf", "good"])
    with caplog.at_level(logging.WARNING):
        registry.notify(EVENT)
        await registry.aclose()
    assert note.read_text() == "query"
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert any("KeyError" in line for line in told)
    assert any("OSError" in line for line in told)
    assert "hunter2" not in caplog.text


async def test_nobody_waits_long_for_a_listener_that_needs_its_plugin_to_stop(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.plugins.hooks._EVENTS_SECONDS", 0.01)
    code = (
        "import asyncio\nstopped, ended = asyncio.Event(), []\n"
        "@hookimpl\nasync def sluicegate_on_event(event):\n"
        "    await stopped.wait()\n    ended.append(event.kind)"
    )
    site.install("waiting", HEAD + code)
    registry = Registry.load(["waiting"])
    registry.notify(Event("last", 1))
    module: Any = sys.modules["plugin_waiting"]
    async with asyncio.timeout(5):
        await registry.drain()
        assert module.ended == []
        module.stopped.set()
        await registry.aclose()
    assert module.ended == ["last"]


def test_registries_do_not_share_state(site: Site) -> None:
    site.install("one", CATALOG)
    site.install("two", STORAGE)
    first, second = Registry.load(["one"]), Registry.load(["two"])
    assert (list(first.types.catalogs), list(first.types.storage)) == (["one"], [])
    assert (list(second.types.catalogs), list(second.types.storage)) == ([], ["two"])
