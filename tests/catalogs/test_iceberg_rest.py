"""Tables of an Iceberg REST catalog through the gateway, which reads by what the catalog vends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import nullcontext

import pyarrow as pa
import pytest
from delta_sharing.protocol import Schema
from pyiceberg.catalog.rest import RestCatalog
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway
from support.gateways.iceberg_rest import (
    SCHEMA,
    SHARE,
    WAREHOUSE,
    CatalogInFront,
    gateway_of,
    in_front_of,
    written_by,
)
from support.tables.rows import assert_same_rows

from sluicegate_testing.servers.seaweedfs import SeaweedFS

SESSION_SECONDS = 6
ROWS = pa.table({"id": pa.array(range(5), pa.int64()), "city": ["Köln", "Bonn", "Köln", None, "Ulm"]})
MORE = pa.table({"id": pa.array([5], pa.int64()), "city": ["Jena"]})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    folder = tmp_path_factory.mktemp("seaweedfs")
    with SeaweedFS.start(folder, session_seconds=SESSION_SECONDS, warehouse=WAREHOUSE) as running:
        written_by(running).create_namespace(SCHEMA)
        yield running


@pytest.fixture
def written(server: SeaweedFS) -> Iterator[RestCatalog]:
    """The catalog's writer, and a fresh table `orders`."""
    catalog = written_by(server)
    catalog.create_table((SCHEMA, "orders"), schema=ROWS.schema).append(ROWS)
    yield catalog
    catalog.drop_table((SCHEMA, "orders"))


@pytest.fixture(scope="module")
def shared(
    server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningGateway, Recipient]]:
    with gateway_of(tmp_path_factory.mktemp("shared"), server, server.iceberg_uri) as running:
        yield running


@pytest.mark.parametrize("has_endpoint", [True, False], ids=["credentials endpoint", "none"])
def test_the_gateway_goes_on_past_the_end_of_its_credentials(
    server: SeaweedFS,
    written: RestCatalog,
    tmp_path_factory: pytest.TempPathFactory,
    has_endpoint: bool,
) -> None:
    folder = tmp_path_factory.mktemp("gateway")
    direct = nullcontext(CatalogInFront(server.iceberg_uri, uri=server.iceberg_uri))
    with (
        in_front_of(server) if has_endpoint else direct as catalog,
        gateway_of(folder, server, catalog.uri) as (_, recipient),
    ):
        assert_same_rows(ROWS, recipient.read("orders"))
        time.sleep(SESSION_SECONDS + 1)
        written.load_table((SCHEMA, "orders")).append(MORE)
        assert_same_rows(pa.concat_tables([ROWS, MORE]), recipient.read("orders"))
    asked = [path for path, _ in catalog.asked if path.endswith("/credentials")]
    assert bool(asked) == has_endpoint
    assert not any(delegated for _, delegated in catalog.asked)


def test_a_new_table_is_listed_and_read_at_once(
    shared: tuple[RunningGateway, Recipient], written: RestCatalog
) -> None:
    _, recipient = shared
    assert names(recipient) == ["orders"]
    written.create_table((SCHEMA, "visits"), schema=MORE.schema).append(MORE)
    assert names(recipient) == ["orders", "visits"]
    assert_same_rows(MORE, recipient.read("visits"))
    written.drop_table((SCHEMA, "visits"))
    assert names(recipient) == ["orders"]


def test_what_the_catalog_vends_reaches_clients_of_the_iceberg_protocol(
    shared: tuple[RunningGateway, Recipient], written: RestCatalog
) -> None:
    gateway, recipient = shared
    token = json.loads(recipient.profile.read_text())["bearerToken"]
    client = RestCatalog("share", uri=f"{gateway.address}/iceberg", warehouse=SHARE, token=token)
    table = client.load_table(("open", "orders"))
    assert table.metadata.table_uuid == written.load_table((SCHEMA, "orders")).metadata.table_uuid
    assert_same_rows(ROWS, table.scan().to_arrow().to_pandas())


def test_credentials_of_a_table_open_no_other(
    server: SeaweedFS, written: RestCatalog, tmp_path_factory: pytest.TempPathFactory
) -> None:
    others = ("orders2", "secret")
    for name in others:
        written.create_table((SCHEMA, name), schema=MORE.schema).append(MORE)
    folder, options = tmp_path_factory.mktemp("narrow"), {"access_modes": ["url", "dir"]}
    with gateway_of(folder, server, server.iceberg_uri, options) as (gateway, recipient):
        token = json.loads(recipient.profile.read_text())["bearerToken"]
        client = RestCatalog("share", uri=f"{gateway.address}/iceberg", warehouse=SHARE, token=token)
        tables = [client.load_table((SCHEMA, name)) for name in ("orders", *others)]
        own, *foreign = [task.file.file_path for each in tables for task in each.scan().plan_files()]
        assert len(foreign) == len(others)
        io = client.load_table((SCHEMA, "orders")).io
        for location in foreign:
            with pytest.raises(OSError, match=r"ACCESS_DENIED|AccessDenied|403"):
                io.new_input(location).open().read(4)
        assert io.new_input(own).open().read(4) == b"PAR1"  # last: they have not ended meanwhile
    for name in others:
        written.drop_table((SCHEMA, name))


def names(recipient: Recipient) -> list[str]:
    with recipient.client() as client:
        return [table.name for table in client.list_tables(Schema(SCHEMA, SHARE)).tables]
