"""Large deletion vectors of tables that only credentials of their catalog open."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from pyiceberg.catalog.rest import RestCatalog
from support.clients.recipient import Recipient
from support.gateways.iceberg_rest import SCHEMA, WAREHOUSE, gateway_of, written_by
from support.tables.iceberg_deletes import delete_by_vectors, delete_positions
from support.tables.large_vectors import FITS, TIMEOUT_SECONDS, fill, left, scattered, vectors
from support.tables.large_vectors import SCHEMA as COLUMNS
from support.tables.rows import assert_same_rows

from sluicegate_testing.servers.seaweedfs import SeaweedFS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs"), warehouse=WAREHOUSE) as running:
        written_by(running).create_namespace(SCHEMA)
        yield running


@pytest.fixture(scope="module")
def writer(server: SeaweedFS) -> RestCatalog:
    return written_by(server)


@pytest.fixture(scope="module")
def recipient(server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recipient]:
    folder = tmp_path_factory.mktemp("gateway")
    with gateway_of(folder, server, server.iceberg_uri) as (gateway, recipient):
        yield recipient
        assert "Traceback" not in gateway.log


def test_positions_are_read_with_what_the_catalog_vends(
    writer: RestCatalog, recipient: Recipient
) -> None:
    table = writer.create_table((SCHEMA, "positions"), schema=COLUMNS)
    file, deleted = fill(table), scattered(1)
    delete_positions(table, {file: deleted[::2]})
    delete_positions(table, {file: deleted[1::2]})
    assert_same_rows(table.scan().to_arrow(), recipient.read("positions"))
    assert large_links(recipient, "positions") == 1


def test_a_vector_is_read_with_what_the_catalog_vends(
    writer: RestCatalog, recipient: Recipient
) -> None:
    table = writer.create_table((SCHEMA, "vectors"), schema=COLUMNS)
    deleted = scattered(2)
    delete_by_vectors(table, {fill(table): deleted}, name="deletes.parquet")
    assert sorted(recipient.read("vectors")["id"]) == left(deleted)
    assert large_links(recipient, "vectors") == 1


def test_a_link_to_a_table_that_was_dropped_serves_nothing(
    writer: RestCatalog, recipient: Recipient
) -> None:
    """Not even what was made before: who may no longer open the table gets no part of it."""
    table = writer.create_table((SCHEMA, "dropped"), schema=COLUMNS)
    delete_positions(table, {fill(table): scattered(3)})
    (vector,) = vectors(recipient, "dropped")
    url = vector["pathOrInlineDv"]
    assert httpx.get(url, timeout=TIMEOUT_SECONDS).status_code == 200
    writer.drop_table((SCHEMA, "dropped"))
    answer = httpx.get(url, timeout=TIMEOUT_SECONDS)
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "RESOURCE_DOES_NOT_EXIST")


def large_links(recipient: Recipient, name: str) -> int:
    """How many vectors of a table are links; each is of the size that its answer says."""
    found = [each for each in vectors(recipient, name) if each["sizeInBytes"] > FITS]
    for each in found:
        served = httpx.get(each["pathOrInlineDv"], timeout=TIMEOUT_SECONDS).content
        assert len(served) == each["offset"] + 4 + each["sizeInBytes"] + 4
    return len(found)
