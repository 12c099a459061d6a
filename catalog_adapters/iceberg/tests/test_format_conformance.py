from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from sluicegate.api import CatalogTable, TableFormat
from sluicegate_iceberg.format.table_format import IcebergFormat
from sluicegate_testing.formats import FormatBehaviour, WrittenTable

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


def data_files(table: Table) -> set[str]:
    """Return a path relative to the table's location."""
    root = f"{table.location()}/"
    return {task.file.file_path.removeprefix(root) for task in table.scan().plan_files()}


def metadata_files(table: Table) -> Mapping[str, bytes]:
    root = Path(table.location().removeprefix("file://"))
    files = (root / "metadata").iterdir()
    return {f"metadata/{file.name}": file.read_bytes() for file in files}


def listed(table: Table) -> CatalogTable:
    return CatalogTable(
        str(table.metadata.table_uuid),
        "iceberg",
        table.location(),
        metadata_location=table.metadata_location,
    )


class TestIceberg(FormatBehaviour):
    @pytest.fixture
    def table_format(self) -> TableFormat:
        return IcebergFormat()

    @pytest.fixture
    def written(self, tmp_path: Path) -> WrittenTable:
        catalog = InMemoryCatalog("lake", warehouse=f"file://{tmp_path}")
        catalog.create_namespace("eu")
        table = catalog.create_table("eu.orders", ROWS.schema)
        versions: dict[int, set[str]] = {}
        states: list[WrittenTable] = []
        for _ in range(2):
            time.sleep(0.005)  # snapshots are distinguished by milliseconds
            table.append(ROWS)
            versions[len(versions) + 1] = data_files(table)
            states.append(WrittenTable(listed(table), metadata_files(table), dict(versions)))
        return replace(states[-1], earlier=states[-2])


_PRELOADED = """
import sys
from sluicegate_iceberg.format.table_format import IcebergFormat

IcebergFormat().preload()
names = ("changes", "loading", "metadata", "objects")
print([name for name in names if f"sluicegate_iceberg.format.{name}" not in sys.modules])
"""


def test_preloading_imports_what_reads_tables() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", _PRELOADED], capture_output=True, text=True, check=True
    )

    assert loaded.stdout.strip() == "[]"
