"""Shapes of Iceberg tables have the ids that PyIceberg wrote into the data files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import LocalStore
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import pyarrow_to_schema

from sluicegate.api import CatalogTable, ObjectDirectory
from sluicegate.tables.iceberg.shape import Type, children
from sluicegate.tables.iceberg.snapshot_shape import shape_of
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.versions import DescribedVersion
from sluicegate_iceberg.format.table_format import IcebergFormat

ROWS = pa.table(
    {
        "tags": pa.array([["a"], None], pa.list_(pa.string())),
        "points": pa.array([[{"x": 1, "y": [2]}], []]),
        "prices": pa.array([[("a", 1.5)], []], pa.map_(pa.string(), pa.float64())),
        "id": pa.array([1, 2], pa.int64()),
    }
)


def never(*field: Any) -> int:
    raise AssertionError(f"{field} gets an id")


def ids(type_: Type, path: str = "") -> dict[int, str]:
    """The path of each field by its id."""
    found: dict[int, str] = {}
    for each in children(type_):
        found |= {each.id: f"{path}{each.name}"} | ids(each.type, f"{path}{each.name}.")
    return found


def ids_in_file(path: Path) -> dict[int, str | None]:
    schema = pyarrow_to_schema(pq.read_schema(path))
    return {id_: schema.find_column_name(id_) for id_ in schema.field_ids}


@pytest.mark.parametrize("renamed", [False, True], ids=["declared by name", "declared by id"])
async def test_the_ids_of_a_shape_are_those_in_the_files(tmp_path: Path, renamed: bool) -> None:
    writer = SqlCatalog("ice", uri=f"sqlite:///{tmp_path}/ice.db", warehouse=f"file://{tmp_path}")
    try:
        writer.create_namespace("ice")
        table = writer.create_table("ice.t", ROWS.schema, location=f"file://{tmp_path}/t")
        table.append(ROWS)
        if renamed:
            with table.update_schema() as update:
                update.rename_column("id", "number")
        source = CatalogTable(
            id="t",
            format="iceberg",
            location=f"file://{tmp_path}/t",
            metadata_location=table.metadata_location,
        )
    finally:
        writer.engine.dispose()
    reader = TableReader({"iceberg": IcebergFormat()}, 1 << 20)
    directory = ObjectDirectory(LocalStore("/"), f"{tmp_path}/t".removeprefix("/"))

    snapshot = await reader.latest(source, directory)

    assert ("delta.columnMapping.mode" in snapshot.metadata.configuration) is renamed
    ((path,),) = [batch.column("path").to_pylist() for batch in snapshot.files.batches(10)]
    expected = ids_in_file(tmp_path / "t" / path)
    if renamed:
        expected[4] = "number"
    assert ids(shape_of(DescribedVersion.of(snapshot), never).schema) == expected
