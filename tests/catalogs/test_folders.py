"""Folders of tables, shared whole by a wildcard: what writers put there is read, of either format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from delta_sharing.protocol import Share
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from support.clients.recipient import Recipient, refusal_of
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration

SHARE, SCHEMA = "lake", "eu"
ENTIRE = "lakehouse"  # the catalog with all of its schemas


@dataclass(frozen=True)
class Folders:
    """A gateway over a folder that PyIceberg and delta-rs write."""

    gateway: RunningGateway
    profile: Path
    lake: Path
    catalog: SqlCatalog

    def iceberg(self, schema: str, name: str, *ids: int) -> None:
        """Create an Iceberg table, or append to it."""
        identifier = f"ice.{schema}_{name}"
        if not self.catalog.table_exists(identifier):
            location = f"file://{self.lake}/{schema}/{name}"
            self.catalog.create_table(identifier, schema=rows().schema, location=location)
        self.catalog.load_table(identifier).append(rows(*ids))

    def delta(self, schema: str, name: str, *ids: int) -> None:
        """Create a Delta table, or append to it."""
        write_deltalake(self.lake / schema / name, rows(*ids), mode="append")

    def read(self, name: str, schema: str = SCHEMA) -> list[int]:
        """The ids that the official client reads."""
        return sorted(Recipient(self.profile, SHARE, schema).read(name)["id"])

    def read_entire(self, schema: str, name: str) -> list[int]:
        """The ids that the official client reads in the share of the catalog."""
        return sorted(Recipient(self.profile, ENTIRE, schema).read(name)["id"])

    def schemas(self) -> list[str]:
        """The schemas of that share, as the official client lists them."""
        with Recipient(self.profile, ENTIRE, SCHEMA).client() as client:
            return [each.name for each in client.list_schemas(Share(ENTIRE)).schemas]

    def listed(self, schema: str) -> list[str]:
        """The tables of a schema, as the official client lists them."""
        with Recipient(self.profile, SHARE, schema).client() as client:
            tables = client.list_all_tables(share=client.list_shares().shares[0]).tables
        return [table.name for table in tables if table.schema == schema]


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture
def folders(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folders]:
    folder = tmp_path / "gateway"
    lake = tmp_path / "lake"
    lake.mkdir()
    schemas = {name: {"from": {"catalog": "raw", "schema": name}} for name in ("eu", "us")}
    write_configuration(
        folder,
        {
            "plugins": request.param,
            "catalogs": {"raw": {"type": "paths", "schemas": {"*": f"file://{lake}/*/"}}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
        },
        {
            "shares": {
                SHARE: {"schemas": schemas},
                ENTIRE: {"from": {"catalog": "raw", "exclude": ["tmp_*"], "alias": "_"}},
            },
            "recipients": {"acme": {"shares": [SHARE, ENTIRE]}},
        },
    )
    catalog = SqlCatalog("ice", uri=f"sqlite:///{tmp_path}/ice.db", warehouse=f"file://{lake}")
    catalog.create_namespace("ice")
    try:
        with running_gateway(folder) as gateway:
            yield Folders(gateway, gateway.profile("acme"), lake, catalog)
    finally:
        catalog.engine.dispose()


@pytest.mark.parametrize("folders", [["iceberg"]], indirect=True)
def test_tables_of_both_formats_are_read_side_by_side_as_they_come_and_grow(folders: Folders) -> None:
    folders.delta("eu", "orders", 1, 2)
    folders.iceberg("eu", "visits", 3)
    assert folders.listed("eu") == ["orders", "visits"]
    assert (folders.read("orders"), folders.read("visits")) == ([1, 2], [3])

    folders.delta("eu", "orders", 4)
    folders.iceberg("eu", "visits", 5, 6)
    assert (folders.read("orders"), folders.read("visits")) == ([1, 2, 4], [3, 5, 6])

    assert folders.listed("us") == []
    folders.iceberg("us", "visits", 7)
    assert (folders.listed("us"), folders.read("visits", "us")) == (["visits"], [7])


@pytest.mark.parametrize("folders", [[]], indirect=True)
def test_iceberg_tables_are_refused_clearly_where_no_plugin_reads_them(folders: Folders) -> None:
    folders.delta("eu", "orders", 1)
    folders.iceberg("eu", "visits", 3)
    refusal = refusal_of(lambda: folders.read("visits"))
    assert refusal.status == 400
    assert "iceberg" in refusal.message
    assert folders.read("orders") == [1]


@pytest.mark.parametrize("folders", [["iceberg"]], indirect=True)
def test_schemas_of_a_shared_catalog_are_read_as_they_come(folders: Folders) -> None:
    folders.delta("eu", "orders", 1, 2)
    folders.iceberg("us", "visits", 3)
    folders.delta("tmp_import", "orders", 9)
    assert folders.schemas() == ["eu", "us"]
    assert (folders.read_entire("eu", "orders"), folders.read_entire("us", "visits")) == ([1, 2], [3])

    folders.delta("far east", "orders", 4)
    assert folders.schemas() == ["eu", "far_east", "us"]
    assert folders.read_entire("far_east", "orders") == [4]
    assert refusal_of(lambda: folders.read_entire("tmp_import", "orders")).status == 404
