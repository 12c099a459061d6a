"""Tables of a Unity Catalog through a gateway, with the official client.

The catalog is a stand-in that serves the exchanges of the real one: no server of it is to be had from
package registries. Files, sessions and their limits are real.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import write_deltalake
from support.gateways.unity_lake import ManagedTable, UnityLake, rows, unity_lake

from sluicegate_testing.servers.unity_catalog.unity import UnityReply, UnityServer, table_info


@pytest.fixture(scope="module")
def unity() -> Iterator[UnityServer]:
    with UnityServer.start() as server:
        yield server


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def managed(unity: UnityServer, tables: Path) -> ManagedTable:
    """Versions 0 and 1 are published, 2 and 3 staged; the catalog has ratified 2."""
    table = ManagedTable(tables / "managed", commits=4, published=2)
    info = table_info("main.eu.managed", f"file://{tables}/managed", 2, table_type="MANAGED")
    unity.state.add(info)
    unity.state.commits["main.eu.managed"] = ([table.commit(2)], 2)
    return table


@pytest.fixture(scope="module")
def lake(
    unity: UnityServer, tables: Path, managed: ManagedTable, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[UnityLake]:
    write_deltalake(tables / "orders", rows(1, 2, 3))
    unity.state.add(
        table_info("main.eu.orders", f"file://{tables}/orders/", 1),
        table_info("main.eu.report", None, 3, table_type="VIEW"),
        table_info("main.eu.csv", f"file://{tables}/csv", 4, data_source_format="CSV"),
        table_info("main.eu.secret", f"file://{tables}/orders", 5),
    )
    unity.state.forbidden.add("main.eu.secret")
    storage = {"type": "file", "prefix": f"file://{tables}/"}
    shared = [f"eu.{name}" for name in ("orders", "managed", "report", "csv", "secret", "gone", "down")]
    with unity_lake(tmp_path_factory.mktemp("gateway"), unity, storage, shared) as running:
        yield running


def test_an_external_table_is_read(lake: UnityLake) -> None:
    assert lake.ids("orders") == [1, 2, 3]


def test_a_schema_that_is_shared_whole_lists_what_can_be_read(lake: UnityLake) -> None:
    listed = lake.ask("GET", "schemas/whole/tables").json()["items"]
    assert [item["name"] for item in listed] == ["managed", "orders"]


@pytest.mark.parametrize("delta", [False, True])
def test_a_catalog_managed_table_is_what_the_catalog_has_ratified(lake: UnityLake, delta: bool) -> None:
    assert lake.ids("managed", use_delta_format=delta) == [0, 1, 2]
    assert lake.ids("managed", use_delta_format=delta, version=1) == [0, 1]


def test_a_catalog_managed_table_grows_by_what_is_ratified_and_published(
    lake: UnityLake, managed: ManagedTable
) -> None:
    state = lake.unity.state
    before = state.commits["main.eu.managed"]
    managed.publish(3)
    assert lake.ids("managed") == [0, 1, 2]
    state.commits["main.eu.managed"] = ([managed.commit(2), managed.commit(3)], 3)
    assert lake.ids("managed") == [0, 1, 2, 3]
    state.commits["main.eu.managed"] = before


@pytest.mark.parametrize(
    ("table", "status", "message"),
    [
        ("report", 400, "it is a view"),
        ("csv", 400, "it is not a Delta table"),
        ("secret", 404, "lake.eu.secret no longer exists"),
        ("gone", 404, "lake.eu.gone no longer exists"),
    ],
)
def test_what_cannot_be_shared_is_refused(
    lake: UnityLake, table: str, status: int, message: str
) -> None:
    answer = lake.ask("GET", f"schemas/eu/tables/{table}/metadata")
    assert answer.status_code == status
    assert message in answer.json()["message"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("secret", "403 PERMISSION_DENIED Access denied."),
        ("gone", "404 TABLE_NOT_FOUND Table not found: main.eu.gone"),
    ],
)
def test_the_log_says_whether_a_table_is_missing_or_forbidden(
    lake: UnityLake, table: str, said: str
) -> None:
    assert lake.ask("GET", f"schemas/eu/tables/{table}/metadata").status_code == 404
    assert lake.gateway.logs(said)


@pytest.mark.parametrize("table", ["orders", "secret", "gone"])
def test_an_identity_that_the_catalog_refuses_makes_no_table_vanish(
    lake: UnityLake, table: str
) -> None:
    lake.unity.instead = lambda _: UnityReply.refusing("PERMISSION_DENIED", "User not allowed: gw@acme")
    try:
        answer = lake.ask("GET", f"schemas/eu/tables/{table}/metadata")
    finally:
        lake.unity.instead = None
    assert answer.status_code == 503
    assert "gw@acme" not in answer.text
    assert lake.gateway.logs("403 PERMISSION_DENIED User not allowed: gw@acme")


def test_a_failure_of_a_catalog_is_reported_without_its_message(lake: UnityLake) -> None:
    lake.unity.instead = lambda _: UnityReply.refusing("INTERNAL", "at 10.0.0.7:5432")
    try:
        answer = lake.ask("GET", "schemas/eu/tables/down/metadata")
    finally:
        lake.unity.instead = None
    assert (answer.status_code, answer.json()["message"]) == (
        503,
        "the catalog 'unity' does not respond as expected; try again later",
    )
    assert int(answer.headers["Retry-After"]) > 0
    assert lake.gateway.logs("500 INTERNAL at 10.0.0.7:5432")


def test_two_thousand_tables_are_listed_by_pages_that_are_slower_in_all_than_the_timeout(
    tmp_path: Path,
) -> None:
    with UnityServer.start() as unity:
        write_deltalake(tmp_path / "orders", rows(7))
        location = f"file://{tmp_path}/orders"
        names = [f"t{number:04}" for number in range(2000)]
        for number, name in enumerate(names):
            unity.state.add(table_info(f"main.eu.{name}", location, number, table_id=f"id-of-{name}"))
        unity.state.page_seconds = 0.3  # 6.3 seconds in all, and a busy machine answers within 5
        storage = {"type": "file", "prefix": f"file://{tmp_path}/"}
        with unity_lake(
            tmp_path / "gateway", unity, storage, (), catalog={"timeout": "5s", "max_age": "60s"}
        ) as lake:
            one = lake.ask("GET", "schemas/whole/tables/t1999/version")
            assert (one.status_code, unity.count("/tables")) == (200, 0)
            listed: list[str] = []
            query: dict[str, str] = {"maxResults": "500"}
            while "pageToken" not in query or query["pageToken"]:
                page = lake.ask("GET", "schemas/whole/tables", params=query)
                assert page.status_code == 200
                listed += [item["name"] for item in page.json()["items"]]
                query["pageToken"] = page.json().get("nextPageToken", "")
    assert listed == names
