"""Columns with a default (version 3): it stands for the column in files that lack it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from support.clients.recipient import refusal_of
from support.gateways.iceberg_sharing import IcebergSharing
from support.tables.iceberg_deletes import as_version_3, change_entries, change_metadata, only_manifest

pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]})
COUNT = {"id": 3, "name": "count", "required": False, "type": "long", "initial-default": 7}


def with_default(table: Table, *, known: bool, mapped: bool = False) -> None:
    """Its column `count` has a default, in all of its schemas that the metadata still knows."""

    def change(metadata: dict[str, Any]) -> None:
        (schema,) = metadata["schemas"]
        schema["fields"] = [*schema["fields"][:2], COUNT]
        schema["schema-id"] = metadata["current-schema-id"] = 0 if known else 1
        metadata["last-column-id"] = 3
        if mapped:
            metadata["properties"]["schema.name-mapping.default"] = "[]"
        change_entries(only_manifest(table), schema=schema)

    as_version_3(table)
    change_metadata(table, change)


@pytest.mark.parametrize(("known", "mapped"), [(False, False), (True, True)])
def test_a_file_that_lacks_a_column_with_a_default_is_refused(
    lake: IcebergSharing, known: bool, mapped: bool
) -> None:
    name, table = lake.table(ROWS.schema)
    table.append(ROWS)
    with_default(table, known=known, mapped=mapped)
    refused = refusal_of(lambda: lake.recipient.read(name))
    assert (refused.status, "'count' was added" in refused.message) == (400, True)


@pytest.mark.parametrize("known", [False, True])
def test_files_that_all_have_the_column_are_read(lake: IcebergSharing, known: bool) -> None:
    rows = ROWS.append_column("count", pa.array([7, 8]))
    name, table = lake.table(rows.schema)
    table.append(rows)
    with_default(table, known=known)
    assert list(lake.recipient.read(name)["count"]) == [7, 8]
