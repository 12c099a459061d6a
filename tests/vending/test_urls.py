"""Presigned URLs in the ledger, and signed with what a catalog vends, through a whole gateway."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gateways.vending_files import VendingGateway, vending_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

FEED: dict[str, Any] = {"history": True, "change_feed": True}
TABLES: dict[str, dict[str, Any]] = {
    "orders": FEED,
    "catalogued": {**FEED, "catalog": "vended"},
    "scattered": {**FEED, "catalog": "vended"},
    "failing": {**FEED, "catalog": "vended"},
}
# A catalog that vends credentials for its tables, which the paths catalog does not.
CATALOG = """
from sluicegate.api import Catalog, CatalogConfig, CatalogTable, CatalogType, hookimpl
from sluicegate_testing.fakes import MemoryVendor

VENDOR = MemoryVendor()

class Vended(Catalog):
    async def list_schemas(self):
        return []
    async def list_tables(self, schema):
        return []
    def identifier(self, schema, table):
        return table
    async def load_table(self, identifier):
        return CatalogTable(identifier, "delta", identifier, vendor=VENDOR)

@hookimpl
def sluicegate_register_catalogs():
    return [CatalogType("vended", CatalogConfig, lambda config, context: Vended())]
"""
LISTENER = """
from sluicegate.api import hookimpl

HEARD = []

@hookimpl
def sluicegate_on_event(event):
    HEARD.append(event)
"""


class Lake:
    """A gateway, its database, and what its plugins remember."""

    def __init__(self, gateway: VendingGateway, folder: Path) -> None:
        self.gateway = gateway
        self._folder = folder

    def query(self, table: str) -> str:
        """Query a table; the request's id."""
        answer = self.gateway.query(f"schemas/eu/tables/{table}")
        assert answer.status == 200, answer.body
        return answer.headers["x-request-id"]

    def entries(self, request_id: str) -> list[dict[str, Any]]:
        """What the ledger says of a request, once it has written it."""
        served = self.gateway.served
        assert served.run(served.gateway.parts.vending.ledger.flush())
        with sqlite3.connect(self._folder / "gateway.db") as database:
            database.row_factory = sqlite3.Row
            rows = database.execute("SELECT * FROM ledger WHERE request_id = ?", [request_id])
            return [dict(row) for row in rows]

    def events(self, request_id: str) -> list[Any]:
        """What plugins were told about a request."""
        heard = importlib.import_module("plugin_listener").HEARD
        return [event for event in heard if event.attributes.get("request_id") == request_id]

    @property
    def catalog_vendor(self) -> Any:
        """The vendor of the catalog `vended`."""
        return importlib.import_module("plugin_vended").VENDOR

    @property
    def signed_with(self) -> list[Any]:
        """The credentials of each call to the storage's `presign`."""
        _, storage = self.gateway.served.gateway.parts.instances.storage_for(self.gateway.lake)
        found: list[Any] = getattr(storage, "signed_with")  # noqa: B009  (the plugin has no type here)
        return found


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("urls")
    elsewhere = f"file://{folder}/lake/sources/x.parquet"
    many = [add(f"{number}.parquet") for number in range(700)]
    for name, actions in (
        ("orders", many),
        ("catalogued", [add("a.parquet")]),
        ("scattered", [add("a.parquet"), add(elsewhere)]),
        ("failing", [add("a.parquet")]),
    ):
        table = DeltaFolder(folder / "lake" / name)
        table.commit(0, protocol(), metadata(**{"delta.enableChangeDataFeed": "true"}), *actions)
    with vending_gateway(
        folder,
        TABLES,
        catalogs={"vended": {"type": "vended"}},
        absolute_paths=("sources",),
        plugins={"vended": CATALOG, "listener": LISTENER},
        sections={"cache": {"answers": 0}},  # each query signs
    ) as served:
        yield Lake(served, folder)


def test_a_query_is_one_entry_however_many_batches_it_has(lake: Lake) -> None:
    request_id = lake.query("orders")
    [entry] = lake.entries(request_id)
    told = {name: entry[name] for name in ("kind", "recipient", "share", "table", "files", "cloud")}
    assert told == {
        "kind": "urls",
        "recipient": "acme",
        "share": "sales",
        "table": "orders",
        "files": 700,
        "cloud": None,
    }
    assert entry["expires_at"] - entry["given_at"] == pytest.approx(3_600_000, abs=60_000)
    assert entry["address"] == "127.0.0.1"
    assert sum(event.attributes["files"] for event in lake.events(request_id)) == 700


def test_a_change_feed_is_one_entry(lake: Lake) -> None:
    answer = lake.gateway.get("schemas/eu/tables/orders/changes?startingVersion=0")
    assert answer.status == 200, answer.body
    [entry] = lake.entries(answer.headers["x-request-id"])
    assert (entry["kind"], entry["files"]) == ("urls", 700)


def test_what_gives_no_urls_is_no_entry(lake: Lake) -> None:
    answer = lake.gateway.get("schemas/eu/tables/orders/metadata")
    assert lake.entries(answer.headers["x-request-id"]) == []


def test_urls_are_signed_with_what_the_catalog_vends(lake: Lake) -> None:
    before = len(lake.catalog_vendor.answered)
    for _ in range(3):
        lake.query("catalogued")
    [vended] = lake.catalog_vendor.answered[before:]
    assert vended.location == f"{lake.gateway.lake}/catalogued"
    assert lake.signed_with[-3:] == [vended] * 3


def test_files_elsewhere_are_signed_by_the_storage_itself(lake: Lake) -> None:
    before = len(lake.signed_with)
    lake.query("scattered")
    own, others = lake.signed_with[before:]
    assert own.location == f"{lake.gateway.lake}/scattered"
    assert others is None


def test_a_storage_signs_with_its_own_where_the_catalog_does_not_vend(lake: Lake) -> None:
    lake.query("orders")
    assert lake.signed_with[-1] is None
    assert lake.gateway.vendor.scopes == []


def test_a_catalog_that_cannot_vend_now_is_unavailable(lake: Lake) -> None:
    lake.catalog_vendor.failure = RuntimeError("token=TOP-SECRET")
    try:
        answer = lake.gateway.query("schemas/eu/tables/failing")
    finally:
        lake.catalog_vendor.failure = None
    assert (answer.status, answer.json["errorCode"]) == (503, "TEMPORARILY_UNAVAILABLE")
    assert b"TOP-SECRET" not in answer.body
