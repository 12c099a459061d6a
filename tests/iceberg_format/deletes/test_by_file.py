"""Deletes of Iceberg tables that PyIceberg reads file by file, as the format version has them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table
from support.clients.iceberg_reading import PLANNING
from support.gateways.iceberg_sharing import SCHEMA, SHARE, IcebergSharing
from support.tables.iceberg_deletes import (
    as_version_3,
    data_files,
    delete_by_vectors,
    delete_positions,
)
from support.tables.large_vectors import fill, left, scattered

pytestmark = [
    # s3fs leaves the connections of its clients to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ROWS = pa.table({"id": pa.array(range(5), pa.int64())})


def loaded(lake: IcebergSharing, name: str, planning: Mapping[str, str]) -> Table:
    """The table as a recipient loads it."""
    profile = json.loads(lake.recipient.profile.read_text())
    share = RestCatalog(
        "share",
        uri=profile["icebergEndpoint"],
        warehouse=SHARE,
        token=profile["bearerToken"],
        **planning,
    )
    table: Table = share.load_table((SCHEMA, name))
    return table


@pytest.mark.parametrize("planning", PLANNING)
@pytest.mark.parametrize("version", [2, 3])
def test_deletes_are_those_of_the_version(
    lake: IcebergSharing, version: int, planning: Mapping[str, str]
) -> None:
    name, table = lake.table(ROWS.schema)
    table.append(ROWS)
    table.append(pa.table({"id": pa.array(range(5, 10), pa.int64())}))
    first, second = data_files(table)
    if version == 3:
        delete_by_vectors(table, {first: [0], second: [1, 2]})
        as_version_3(table)
    else:
        delete_positions(table, {first: [0], second: [1, 2]})
    found = loaded(lake, name, planning)
    assert found.metadata.format_version == version
    scan = found.scan()
    formats = {each.file_format.name for task in scan.plan_files() for each in task.delete_files}
    assert formats == {"PUFFIN" if version == 3 else "PARQUET"}
    assert sorted(scan.to_arrow()["id"].to_pylist()) == sorted(lake.recipient.read(name)["id"])


def test_large_deletes_are_read(lake: IcebergSharing) -> None:
    name, table = lake.table(ROWS.schema)
    deleted = scattered(5)
    delete_positions(table, {fill(table): deleted})
    found = loaded(lake, name, {})
    assert found.scan(row_filter="id >= 0").to_arrow()["id"].to_pylist() == left(deleted)
