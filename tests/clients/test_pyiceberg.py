"""The Iceberg catalog of a share, as PyIceberg meets it, over a store that checks credentials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.io import load_file_io
from support.gateways.iceberg_lake import SCHEMA, SHARE, IcebergLake, iceberg_lake
from support.tables.rows import assert_same_rows

from sluicegate_testing.servers.seaweedfs import SeaweedFS

ROWS = pa.table({"id": pa.array(range(5), pa.int64()), "city": ["Köln", "Bonn", "Köln", None, "Ulm"]})
MORE = pa.table({"id": pa.array([5, 6], pa.int64()), "city": ["Jena", "Trier"]})
ORDERS, VISITS, GROWING, BY_URL = "orders", "visits", "growing", "by_url"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.fixture(scope="module")
def lake(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergLake]:
    tables = dict.fromkeys((ORDERS, VISITS, GROWING, BY_URL), ROWS)
    options = {BY_URL: {"access_modes": ["url"]}}
    with iceberg_lake(tmp_path_factory.mktemp("lake"), server, tables, options=options) as running:
        yield running


def test_a_share_is_listed_loaded_and_scanned_with_a_token(lake: IcebergLake) -> None:
    client = lake.client()
    assert client.list_namespaces() == [(SCHEMA,)]
    assert client.list_tables(SCHEMA) == [(SCHEMA, GROWING), (SCHEMA, ORDERS), (SCHEMA, VISITS)]
    assert client.namespace_exists(SCHEMA)
    assert client.table_exists((SCHEMA, ORDERS))
    assert not client.table_exists((SCHEMA, BY_URL))
    table = client.load_table((SCHEMA, ORDERS))
    assert_same_rows(ROWS, table.scan().to_arrow().to_pandas())
    assert table.scan(row_filter="id >= 3").to_arrow().num_rows == 2


def test_a_client_proves_itself_by_its_secret(lake: IcebergLake) -> None:
    profile = lake.profile("--oauth")
    client = lake.client(credential=f"{profile['clientId']}:{profile['clientSecret']}")
    assert_same_rows(ROWS, client.load_table((SCHEMA, VISITS)).scan().to_arrow().to_pandas())


def test_what_is_written_since_is_read(lake: IcebergLake) -> None:
    table = lake.client().load_table((SCHEMA, GROWING))
    lake.append(GROWING, MORE)
    assert table.scan().to_arrow().num_rows == len(ROWS)
    both = pa.concat_tables([ROWS, MORE])
    assert_same_rows(both, table.refresh().scan().to_arrow().to_pandas())
    first = table.metadata.snapshots[0].snapshot_id
    assert_same_rows(ROWS, table.scan(snapshot_id=first).to_arrow().to_pandas())


def test_loaded_credentials_open_the_table_and_no_other(lake: IcebergLake) -> None:
    client = lake.client()
    orders, visits = (client.load_table((SCHEMA, name)) for name in (ORDERS, VISITS))
    settings = client.load_credentials((SCHEMA, ORDERS), orders.metadata_location)
    opened = load_file_io({**settings, "s3.endpoint": lake.server.endpoint})
    for table in (orders, visits):
        manifests = table.current_snapshot().manifest_list
        with nullcontext() if table is orders else pytest.raises(OSError, match="ACCESS_DENIED"):
            assert opened.new_input(manifests).open().read()
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        opened.new_output(f"{orders.location()}/mine").create().write(b"x")


def test_missing_resources_have_icebergs_errors(lake: IcebergLake) -> None:
    client = lake.client()
    for name in ("nothing", BY_URL):
        with pytest.raises(NoSuchTableError):
            client.load_table((SCHEMA, name))
    with pytest.raises(NoSuchNamespaceError):
        client.list_tables("asia")
    with pytest.raises(NotImplementedError):
        client.drop_table((SCHEMA, ORDERS))


def test_the_ledger_has_what_was_given_and_no_secret(lake: IcebergLake) -> None:
    client = lake.client()
    location = client.load_table((SCHEMA, ORDERS)).location()
    settings = client.load_credentials((SCHEMA, ORDERS), location)
    of_orders = ("--kind", "iceberg-config", "--table", f"{SHARE}.{SCHEMA}.{ORDERS}")
    ledger = lake.gateway.command("ledger", "--json", *of_orders)
    assert json.loads(ledger)
    for key in ("s3.secret-access-key", "s3.session-token"):
        assert settings[key] not in ledger
        assert settings[key] not in lake.gateway.log
