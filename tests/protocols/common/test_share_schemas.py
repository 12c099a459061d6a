"""A share of an entire catalog: its schemas in each protocol, as they come, go and cannot be listed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.gateways.iceberg_gateway import written
from support.gateways.in_process import Answer, Request
from support.gateways.vending_files import VendingGateway, vending_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.access.grants import Grants
from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api import (
    Principal,
    Schema,
    SharedSchemaSource,
)
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.plugins import Instances, Registry, configure
from sluicegate.plugins.context import NoLinks
from sluicegate.protocols.common.share_schemas import ShareSchemas
from sluicegate_testing.fakes import MemoryCatalog
from sluicegate_testing.secrets import keep_credentials

WORDS = "pq: relation namespaces of db-7.internal is locked"
PLUGIN = """
import json
from pathlib import Path
from sluicegate.api import CatalogConfig, CatalogTable, CatalogType, Unavailable, hookimpl
from sluicegate_testing.fakes import MemoryCatalog

class Config(CatalogConfig):
    file: str

class Filed(MemoryCatalog):
    def __init__(self, config, context):
        super().__init__({})
        self._file = Path(config.file)
    def read(self):
        content = json.loads(self._file.read_text())
        if isinstance(content, str):
            raise Unavailable("the catalog does not respond", detail=content)
        self._schemas = {
            schema: {name: CatalogTable(**table) for name, table in tables.items()}
            for schema, tables in content.items()
        }
    async def list_schemas(self):
        self.read()
        return await super().list_schemas()
    async def list_tables(self, schema):
        self.read()
        return await super().list_tables(schema)
    async def load_table(self, identifier):
        self.read()
        return await super().load_table(identifier)

@hookimpl
def sluicegate_register_catalogs():
    return [CatalogType("filed", Config, Filed)]
"""
SHARE = "/delta-sharing/shares/sales"
ICEBERG = "/iceberg/v1/shares/sales/namespaces"
ALWAYS_ASKED = {"max_age": 0, "stale_while_revalidate": 0}
SHARED = ["EU", "far_east", "us"]


class Lake:
    """A gateway over a catalog whose content is a file."""

    def __init__(self, vending: VendingGateway, listing: Path, content: dict[str, Any]) -> None:
        self._vending = vending
        self._listing = listing
        self.content = content

    def becomes(self, content: object) -> None:
        """Change what the catalog answers; a text is the reason why it does not."""
        self._listing.write_text(json.dumps(content))

    def ask(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        known = [("authorization", f"Bearer {self._vending.token}"), *named]
        return self._vending.served.send(Request(method, path, known, body))

    def schemas(self, query: str = "") -> list[str]:
        answer = self.ask(f"{SHARE}/schemas{query}")
        assert answer.status == 200, answer.body
        return [item["name"] for item in answer.json["items"]]

    def namespaces(self) -> list[str]:
        answer = self.ask(ICEBERG)
        assert answer.status == 200, answer.body
        return [name for [name] in answer.json["namespaces"]]

    def tables(self, path: str) -> list[str]:
        answer = self.ask(f"{SHARE}/{path}")
        assert answer.status == 200, answer.body
        return [f"{item['schema']}.{item['name']}" for item in answer.json["items"]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("shared_catalog")
    lake, listing = folder / "lake", folder / "listing.json"
    for name in ("declared", "visits"):
        DeltaFolder(lake / name).commit(0, protocol(), metadata(), add("a.parquet"))
    orders = written(lake, "orders", format="iceberg", metadata="v3.metadata.json")
    visits = {"id": "visits", "format": "delta", "location": f"file://{lake}/visits"}
    content = {
        "eu": {"hidden": visits},
        "us": {"orders": orders, "visits": visits},
        "far east": {"two words": visits},
        "Clash": {"visits": visits},
        "clash": {"visits": visits},
        "tmp_import": {"visits": visits},
    }
    options = {"history": True, "access_modes": ["url", "dir"], "alias": "_", "exclude": ["tmp_*"]}
    with vending_gateway(
        folder,
        {},
        catalogs={"filed": {"type": "filed", "file": str(listing), **ALWAYS_ASKED}},
        plugins={"filed": PLUGIN},
        share={
            "schemas": {
                "EU": {"tables": {"own": {"catalog": "raw", "table": f"file://{lake}/declared"}}}
            },
            "from": {"catalog": "filed", **options},
        },
    ) as vending:
        yield Lake(vending, listing, content)


@pytest.fixture
def lake(running: Lake) -> Lake:
    running.becomes(running.content)
    return running


def test_both_protocols_list_the_schemas_of_the_catalog(lake: Lake) -> None:
    assert lake.schemas() == SHARED
    assert lake.namespaces() == SHARED


def test_pages_together_are_all_schemas(lake: Lake) -> None:
    found, query = [], "?maxResults=1"
    while query:
        answer = lake.ask(f"{SHARE}/schemas{query}").json
        found += [item["name"] for item in answer["items"]]
        token = answer.get("nextPageToken")
        query = f"?maxResults=1&pageToken={token}" if token else ""
    assert found == SHARED


def test_a_declared_schema_replaces_the_catalogs(lake: Lake) -> None:
    assert lake.tables("schemas/eu/tables") == ["EU.own"]
    assert lake.ask(f"{SHARE}/schemas/eu/tables/hidden/metadata").status == 404
    assert lake.ask(f"{SHARE}/schemas/eu/tables/own/metadata").status == 200


def test_tables_have_the_options_of_the_share_and_one_id(lake: Lake) -> None:
    every = ["EU.own", "far_east.two_words", "us.orders", "us.visits"]
    assert lake.tables("all-tables") == every
    first, again = (
        {item["name"]: item for item in lake.ask(f"{SHARE}/{path}").json["items"]}
        for path in ("all-tables", "schemas/US/tables")
    )
    assert again["visits"]["id"] == first["visits"]["id"]
    assert again["visits"]["accessModes"] == ["url", "dir"]
    assert len({item["id"] for item in first.values()}) == len(every)


@pytest.mark.parametrize("table", ["us/tables/visits", "US/tables/VISITS", "far_east/tables/two_words"])
def test_a_table_is_read_by_urls_and_by_credentials(lake: Lake, table: str) -> None:
    address = f"{SHARE}/schemas/{table}"
    answer = lake.ask(f"{address}/query", "POST", b"{}")
    assert (answer.status, len(answer.lines)) == (200, 3)
    assert lake.ask(f"{address}/query", "POST", b'{"version": 0}').status == 200
    vended = lake.ask(f"{address}/temporary-table-credentials", "POST")
    assert vended.status == 200
    keep_credentials(vended.json["credentials"])


def test_iceberg_clients_list_and_load_tables(lake: Lake) -> None:
    assert lake.ask(f"{ICEBERG}/US").json == {"namespace": ["us"], "properties": {}}
    assert lake.ask(f"{ICEBERG}/us", "HEAD").status == 204
    assert lake.ask(f"{ICEBERG}?parent=us").json["namespaces"] == []
    lake.ask(f"{ICEBERG}/us/tables")
    listed = lake.ask(f"{ICEBERG}/us/tables").json["identifiers"]
    assert listed == [{"namespace": ["us"], "name": name} for name in ("orders", "visits")]
    loaded = lake.ask(f"{ICEBERG}/us/tables/orders", x_iceberg_access_delegation="vended-credentials")
    assert (loaded.status, bool(loaded.json["storage-credentials"])) == (200, True)


@pytest.mark.parametrize("name", ["tmp_import", "clash", "Clash", "far%20east", "nowhere"])
def test_schemas_that_are_not_shared_are_not_there(lake: Lake, name: str) -> None:
    addresses = (f"{SHARE}/schemas/{name}/tables", f"{ICEBERG}/{name}", f"{ICEBERG}?parent={name}")
    assert [lake.ask(address).status for address in addresses] == [404] * 3
    assert lake.ask(f"{SHARE}/schemas/{name}/tables/visits/metadata").status == 404


def test_schemas_come_and_go_with_those_of_the_catalog(lake: Lake) -> None:
    visits = lake.content["us"]["visits"]
    lake.becomes({"asia": {"visits": visits}})
    assert lake.schemas() == lake.namespaces() == ["asia", "EU"]
    assert lake.ask(f"{SHARE}/schemas/asia/tables/visits/metadata").status == 200
    assert lake.ask(f"{SHARE}/schemas/us/tables/visits/metadata").status == 404
    lake.becomes({})
    assert lake.schemas() == ["EU"]


def test_what_needs_a_catalog_that_is_down_is_refused_and_the_rest_goes_on(lake: Lake) -> None:
    lake.becomes(WORDS)
    for address in (f"{SHARE}/schemas", f"{SHARE}/schemas/us/tables", ICEBERG, f"{ICEBERG}/us"):
        answer = lake.ask(address)
        assert (answer.status, "retry-after" in answer.headers) == (503, True)
        assert b"db-7" not in answer.body
    assert lake.tables("all-tables") == lake.tables("schemas/EU/tables") == ["EU.own"]
    assert lake.ask(f"{SHARE}/schemas/EU/tables/own/metadata").status == 200
    assert lake.ask("/delta-sharing/shares").json["items"][0]["name"] == "sales"
    lake.becomes(lake.content)
    assert lake.schemas() == SHARED


class Upstream(MemoryCatalog):
    """A catalog whose schemas a test changes."""

    def __init__(self, *names: str) -> None:
        self.names = names
        super().__init__({})

    async def list_schemas(self) -> list[str]:
        return list(self.names)


class Declared:
    """Shares of the catalog `main`, and a recipient of them."""

    def __init__(self, store: Store, instances: Instances, folder: Path) -> None:
        self._store = store
        self._file = folder / "shares.yaml"
        self._shares = ShareSchemas(Grants(store, max_age=0), instances)
        self._acme = Principal("", "acme", "bearer")

    async def apply(self, **options: Any) -> None:
        """Declare the shares with other options."""
        source = {"from": {"catalog": "main", **options}}
        declaration = {
            "shares": {"sales": source, "other": source},
            "recipients": {"acme": {"shares": ["sales", "other"]}},
        }
        self._file.write_bytes(orjson.dumps(declaration))
        file = read_shares_file(self._file, {"main", "second"})
        await apply_shares_file(self._store, file)
        [acme] = await Recipients(self._store, token_lifetime=100, rotation_grace=10).list()
        self._acme = replace(self._acme, id=acme.id)

    async def schemas(self, share: str = "sales") -> list[Schema]:
        return list(await self._shares.schemas(self._acme, share))


@asynccontextmanager
async def declared(folder: Path, upstream: Upstream, **options: Any) -> AsyncIterator[Declared]:
    """What finds the schemas of the shares `sales` and `other`, which are from the same catalog."""
    catalogs = {"main": {"type": "paths"}, "second": {"type": "paths"}}
    settings = Settings.model_validate({"catalogs": catalogs, "plugins": ["paths"]})
    registry = Registry.load(settings)
    instances = Instances(
        registry, configure(settings, registry), links=NoLinks, guard=lambda *_: upstream
    )
    store = await Store.open(f"sqlite:///{folder}/gateway.db")
    try:
        shares = Declared(store, instances, folder)
        await shares.apply(**options)
        yield shares
    finally:
        await store.aclose()
        await instances.aclose()


async def test_a_schema_keeps_its_id_while_others_come_and_aliases_change(tmp_path: Path) -> None:
    upstream = Upstream("a b")
    async with declared(tmp_path, upstream, alias="_") as shares:
        [first], [of_other] = [await shares.schemas(share) for share in ("sales", "other")]
        upstream.names = ("a b", "us")
        [again, us] = await shares.schemas()
        await shares.apply(alias="--", history=True)
        [renamed, _] = await shares.schemas()
        await shares.apply(catalog="second", alias="_")
        [of_second, _] = await shares.schemas()
    assert first.source == SharedSchemaSource("main", "a b", alias="_")
    assert again == first
    assert (renamed.name, renamed.id) == ("a--b", first.id)
    assert renamed.source == SharedSchemaSource("main", "a b", alias="--", history=True)
    assert len({first.id, of_other.id, us.id, of_second.id}) == 4
