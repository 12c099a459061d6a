"""The Iceberg catalog of a share, as PyIceberg meets it, over a store that checks credentials."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from support.iceberg_lake import SCHEMA, IcebergLake, iceberg_lake
from support.rows import assert_same_rows

from sluicegate.testing.servers.seaweedfs import SeaweedFS

ROWS = pa.table({"id": pa.array(range(5), pa.int64()), "city": ["Köln", "Bonn", "Köln", None, "Ulm"]})
MORE = pa.table({"id": pa.array([5, 6], pa.int64()), "city": ["Jena", "Trier"]})
ORDERS, VISITS, BY_URL = "orders", "visits", "by_url"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.fixture(scope="module")
def lake(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergLake]:
    tables = dict.fromkeys((ORDERS, VISITS, BY_URL), ROWS)
    options = {BY_URL: {"access_modes": ["url"]}}
    with iceberg_lake(tmp_path_factory.mktemp("lake"), server, tables, options=options) as running:
        yield running


def test_a_share_is_listed_loaded_and_scanned_with_a_token(lake: IcebergLake) -> None:
    client = lake.client()
    assert client.list_namespaces() == [(SCHEMA,)]
    assert client.list_tables(SCHEMA) == [(SCHEMA, ORDERS), (SCHEMA, VISITS)]
    assert client.namespace_exists(SCHEMA)
    assert client.table_exists((SCHEMA, ORDERS))
    assert not client.table_exists((SCHEMA, BY_URL))
    table = client.load_table((SCHEMA, ORDERS))
    assert_same_rows(ROWS, table.scan().to_arrow().to_pandas())
    assert table.scan(row_filter="id >= 3").to_arrow().num_rows == 2
