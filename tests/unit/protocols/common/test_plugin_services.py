"""The services of a plugin: its own settings, state and names, and tables as recipients see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest
from support.gateways.in_memory import InMemory, by_name
from support.gateways.memory_grants import ACME, RIVAL, MemoryGrants

from sluicegate.api import (
    Event,
    HttpClient,
    NotFound,
    PluginConfig,
    Principal,
    Schema,
    Share,
    SharedTable,
    Unauthenticated,
)
from sluicegate.protocols.common import plugin_services
from sluicegate.protocols.common.plugin_services import GrantedTables, NamedTelemetry, PluginServices
from sluicegate.protocols.common.resolver import Resolver

SHARE = Share("s1", "sales")
SCHEMA = Schema("e", SHARE, "eu")
ORDERS = SharedTable(
    "1", "sales", "s1", "eu", "orders", "main", "eu.orders", access_modes=("url", "dir")
)
HIDDEN = SharedTable("2", "sales", "s1", "eu", "hidden", "main", "eu.hidden")
NO_DATABASE = cast("Any", None)
URL_ONLY = SharedTable("1", "sales", "s1", "eu", "orders", "main", "eu.orders")


class Published:
    """The events that a plugin sent."""

    def __init__(self) -> None:
        self.events: list[tuple[Event, str]] = []

    def __call__(self, event: Event, sender: str) -> None:
        self.events.append((event, sender))


def granted_tables() -> GrantedTables:
    """Of a gateway whose policies hide one table, and allow no credentials."""
    made = InMemory(grants=MemoryGrants([SHARE], [SCHEMA], {"e": [HIDDEN, ORDERS]}))

    class Restricted(Resolver):
        async def shown(self, principal: Principal, tables: Any) -> Any:
            return [table for table in tables if table != HIDDEN]

        async def narrowed(self, principal: Principal, tables: Any) -> Any:
            return [URL_ONLY if table == ORDERS else table for table in tables]

    return GrantedTables(made.grants, Restricted(made.grants, made.instances, made.vending))


def services(
    name: str = "extra", settings: PluginConfig | None = None, publish: Published | None = None
) -> PluginServices:
    made = granted_tables()
    known = publish or Published()
    url = "https://share.example"
    return PluginServices(name, settings, url, by_name(), made, known, NO_DATABASE)


def test_a_plugin_has_its_own_name_settings_and_state() -> None:
    settings = PluginConfig()
    one, other = services("one", settings), services("other")
    one.state["key"] = 1
    assert (one.name, one.settings, one.state) == ("one", settings, {"key": 1})
    assert (other.name, other.settings, other.state) == ("other", None, {})
    assert one.public_url == "https://share.example"


async def test_a_request_is_authenticated_as_at_every_endpoint() -> None:
    def scope(token: bytes) -> dict[str, Any]:
        return {
            **{"type": "http", "method": "GET", "path": "/extra", "query_string": b""},
            "headers": [(b"authorization", b"Bearer " + token)],
        }

    assert await services().authenticate(scope(b"acme")) == ACME
    with pytest.raises(Unauthenticated):
        await services().authenticate(scope(b"other"))


def test_events_have_the_plugins_name_and_do_not_return_to_it() -> None:
    published = Published()
    event = Event("listed", 1, ACME, {"tables": 3})
    services(publish=published).publish(event)
    assert published.events == [(Event("extra.listed", 1, ACME, {"tables": 3}), "extra")]
    assert event.kind == "listed"


async def test_http_clients_are_closed_once_even_if_one_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    closed: list[HttpClient] = []
    made = services()
    first, second = made.http_client(timeout=5), made.http_client(timeout=1, connections=2, longest=10)

    async def close(client: HttpClient) -> None:
        closed.append(client)
        if client is first:
            raise OSError("hunter2")

    monkeypatch.setattr(HttpClient, "aclose", close)
    await made.aclose()
    await made.aclose()
    assert closed == [first, second]
    assert "an HTTP client of plugin 'extra' failed to close: OSError" in caplog.text
    assert "hunter2" not in caplog.text


async def test_tables_are_those_that_grants_and_policies_allow() -> None:
    tables = granted_tables()
    assert await tables.shares(ACME) == [SHARE]
    assert await tables.schemas(ACME, "SALES") == [SCHEMA]
    assert await tables.tables(ACME, "sales", "EU") == [URL_ONLY]
    assert await tables.table(ACME, "sales", "eu", "ORDERS") == URL_ONLY


async def test_a_recipient_without_grants_sees_nothing() -> None:
    tables = granted_tables()
    assert not await tables.shares(RIVAL)
    for reading in (
        tables.schemas(RIVAL, "sales"),
        tables.tables(RIVAL, "sales", "eu"),
        tables.table(RIVAL, "sales", "eu", "orders"),
        tables.table(ACME, "sales", "eu", "nothing"),
    ):
        with pytest.raises(NotFound):
            await reading


def test_spans_and_counters_have_the_plugins_name(monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[tuple[str, Mapping[str, Any]]] = []
    counted: list[tuple[Any, ...]] = []

    def count(plugin: str, name: str, n: int, **attributes: Any) -> None:
        counted.append((plugin, name, n, attributes))

    monkeypatch.setattr(plugin_services, "span", lambda name, **given: spans.append((name, given)))
    monkeypatch.setattr(plugin_services, "count_of_plugin", count)
    telemetry = services().telemetry
    telemetry.span("list", tables=3)
    telemetry.count("listed")
    telemetry.count("listed.files_2", 7, kind="delta")
    assert spans == [("extra.list", {"tables": 3})]
    assert counted == [
        ("extra", "listed", 1, {}),
        ("extra", "listed.files_2", 7, {"kind": "delta"}),
    ]


@pytest.mark.parametrize("name", ["", "a b", "Upper", "1st", "_a", "a-b", "ä", "a\n", "a" * 65])
def test_counters_that_exporters_reject_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must be named with"):
        NamedTelemetry("extra").count(name)


def test_a_counter_can_have_64_characters() -> None:
    NamedTelemetry("extra").count("a" * 64)
