"""Catalogs on bad days, over HTTP: whose tables are gone, and what is said where."""

from __future__ import annotations

import json
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate_testing.servers.unity_catalog.unity import (
    UnityReply,
    UnityRequest,
    UnityServer,
    table_info,
)

WORDS = "pq: relation uc_tables of db-7.internal is locked"
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Lake:
    """A gateway in front of two Unity Catalogs, a folder of paths, and a catalog that is not there."""

    gateway: RunningGateway
    token: str
    main: UnityServer
    other: UnityServer

    def get(self, path: str, request_id: str = "") -> httpx.Response:
        """Something of the share."""
        headers = {
            "authorization": f"Bearer {self.token}",
            "x-request-id": request_id or uuid.uuid4().hex,
        }
        url = f"{self.gateway.endpoint}/shares/sales/{path}"
        return httpx.get(url, headers=headers, timeout=PATIENCE_SECONDS)

    def metadata(self, schema: str, request_id: str = "") -> httpx.Response:
        """The metadata of a schema's table."""
        return self.get(f"schemas/{schema}/tables/orders/metadata", request_id)

    def listed(self) -> list[str]:
        """Every table of the share, as `all-tables` names them."""
        answer = self.get("all-tables")
        assert answer.status_code == 200, answer.text
        return [f"{item['schema']}.{item['name']}" for item in answer.json()["items"]]

    def logged(self, request_id: str) -> str:
        """What the gateway logged of a request, once it has ended."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up:
            lines = [line for line in self.gateway.log.splitlines() if request_id in line]
            if lines:
                return "\n".join(lines)
            time.sleep(0.05)
        raise AssertionError("the request was not logged")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("outages")
    location = f"file://{folder}/lake/orders"
    DeltaFolder(folder / "lake" / "orders").commit(0, protocol(), metadata(), add("a.parquet"))
    with UnityServer.start() as main, UnityServer.start() as other, closing(socket.socket()) as dead:
        dead.bind(("127.0.0.1", 0))  # nobody listens there
        for server in (main, other):
            server.state.add(table_info("main.eu.orders", location))
        main.state.add(table_info("main.us.orders", location, 2))
        uris = {
            "main": main.uri,
            "other": other.uri,
            "dead": f"http://127.0.0.1:{dead.getsockname()[1]}",
        }
        settings = {"max_age": 0, "stale_while_revalidate": 0, "timeout": 2}
        unity = {
            name: {"type": "unity", "uri": uri, "catalog": "main", **settings}
            for name, uri in uris.items()
        }
        tables = {
            name: {"tables": {"orders": {"catalog": name, "table": "eu.orders"}}} for name in unity
        }
        tables["raw"] = {"tables": {"orders": {"catalog": "raw", "table": location}}}
        whole = {f"{name}_whole": {"from": {"catalog": name, "schema": "eu"}} for name in unity}
        whole["main_us"] = {"from": {"catalog": "main", "schema": "us"}}
        write_configuration(
            folder,
            {
                "catalogs": {"raw": {"type": "paths"}, **unity},
                "storage": [{"type": "file", "prefix": f"file://{folder}/lake/"}],
                "database": f"sqlite:///{folder}/gateway.db",
            },
            {
                "shares": {"sales": {"schemas": {**tables, **whole}}},
                "recipients": {"acme": {"shares": ["sales"]}},
            },
        )
        with running_gateway(folder) as gateway:
            token = json.loads(gateway.profile("acme").read_text())["bearerToken"]
            yield Lake(gateway, token, main, other)


@contextmanager
def bad_day(lake: Lake, answer: Callable[[UnityRequest], UnityReply]) -> Iterator[None]:
    """The catalog `main` answers like this, until the block ends."""
    lake.main.instead = answer
    try:
        yield
    finally:
        lake.main.instead = None


def hang(_: UnityRequest) -> UnityReply:
    time.sleep(4)
    return UnityReply.of({})


def lie(asked: UnityRequest) -> UnityReply:
    """A table without a place, and listings of no tables."""
    return UnityReply.of({"tables": [{"name": 7}], "table_id": WORDS, "data_source_format": "DELTA"})


DAYS: dict[str, Callable[[UnityRequest], UnityReply]] = {
    "fails": lambda _: UnityReply.refusing("INTERNAL", WORDS),
    "answers no JSON": lambda _: UnityReply(200, WORDS.encode()),
    "hangs": hang,
    "lies": lie,
}


def comes_back(lake: Lake, path: str) -> bool:
    """Whether it is served again, without anybody doing anything."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        if lake.get(path).status_code == 200:
            return True
        time.sleep(0.25)
    return False


@pytest.mark.parametrize("day", DAYS)
def test_a_bad_day_of_one_catalog_is_its_own_and_passes(lake: Lake, day: str) -> None:
    paths = ("schemas/main/tables/orders/metadata", "schemas/main_whole/tables")
    assert all(comes_back(lake, path) for path in paths)

    with bad_day(lake, DAYS[day]):
        gone = lake.metadata("main")
        others = {
            schema: lake.metadata(schema).status_code for schema in ("other", "raw", "other_whole")
        }

    assert gone.status_code == 503
    assert gone.json()["errorCode"] == "TEMPORARILY_UNAVAILABLE"
    assert int(gone.headers["retry-after"]) > 0
    assert others == {"other": 200, "raw": 200, "other_whole": 200}
    assert all(comes_back(lake, path) for path in paths)


def test_a_listing_goes_on_without_the_schemas_of_a_catalog_that_is_down(lake: Lake) -> None:
    assert all(comes_back(lake, f"schemas/{name}/tables") for name in ("main_whole", "main_us"))
    declared = ["dead.orders", "main.orders", "other.orders", "raw.orders"]
    whole = ["main_us.orders", "main_whole.orders", "other_whole.orders"]
    assert lake.listed() == sorted([*declared, *whole])
    with bad_day(lake, DAYS["fails"]):
        assert lake.listed() == sorted([*declared, "other_whole.orders"])
        alone = lake.get("schemas/main_whole/tables")
    assert (alone.status_code, "retry-after" in alone.headers) == (503, True)


def test_a_listing_requests_all_its_schemas_at_once(lake: Lake) -> None:
    assert all(comes_back(lake, f"schemas/{name}/tables") for name in ("main_whole", "main_us"))
    both = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    def together(asked: UnityRequest) -> UnityReply:
        both.wait()
        return lake.main.state.answer(asked)

    with bad_day(lake, together):
        assert {"main_us.orders", "main_whole.orders"} <= set(lake.listed())


@pytest.mark.parametrize("path", ["schemas/main/tables/orders/metadata", "schemas/main_whole/tables"])
def test_what_the_catalog_responded_is_only_in_the_log_with_the_requests_id(
    lake: Lake, path: str
) -> None:
    assert comes_back(lake, path)
    request_id = uuid.uuid4().hex
    with bad_day(lake, DAYS["fails"]):
        answer = lake.get(path, request_id)
    assert answer.status_code == 503
    assert "db-7.internal" not in answer.text
    assert WORDS in lake.logged(request_id)


def test_a_catalog_that_is_not_there_is_no_harm_to_others(lake: Lake) -> None:
    answer = lake.metadata("dead")
    assert (answer.status_code, "127.0.0.1" in answer.text) == (503, False)
    assert lake.metadata("raw").status_code == 200


def test_two_catalogs_of_one_type_have_tables_of_the_same_name_side_by_side(lake: Lake) -> None:
    def ids() -> dict[str, Any]:
        names = ("main_whole", "other_whole")
        return {name: lake.get(f"schemas/{name}/tables").json()["items"][0]["id"] for name in names}

    assert comes_back(lake, "schemas/main_whole/tables")
    assert len(set(ids().values())) == 2
    lake.other.state.tables.clear()
    try:
        answers = [lake.metadata(schema).status_code for schema in ("main", "other")]
    finally:
        location = lake.main.state.tables["main.eu.orders"]["storage_location"]
        lake.other.state.add(table_info("main.eu.orders", location))
    assert answers == [200, 404]
