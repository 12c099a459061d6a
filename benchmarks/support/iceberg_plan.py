"""A synthetic Delta table as an Iceberg client sees it, without a gateway's process."""

from __future__ import annotations

import tempfile
from pathlib import Path

import orjson
from support.gateways.memory_gateway import KEYS, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.deltalog import DeltaFolder
from support.tables.iceberg_views import iceberg_shape
from support.tables.snapshots import latest

from benchmarks.support.table import SyntheticTable
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths
from sluicegate.protocols.iceberg_rest.view import IcebergView


async def synthetic_view(files: int) -> IcebergView:
    """The newest version of a table of so many files, with the paths that clients get."""
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as folder:
        snapshot = await latest(written(Path(folder), files))
    table = await memory_gateway().open(shared_table())
    paths = FilePaths(KEYS, 3600).of_view(ACME, table.shared, table.source, snapshot.version)
    return IcebergView(table, snapshot, snapshot.files, iceberg_shape(snapshot.metadata), paths)


def written(folder: Path, files: int) -> DeltaFolder:
    """The log of the table in a folder."""
    table = DeltaFolder(folder / "orders")
    log = folder / "orders" / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    for name, content in SyntheticTable(files).log():
        (log / name).write_bytes(content)
    return table


def tasks_in(response: bytes) -> int:
    """The number of file scan tasks of a response."""
    return len(orjson.loads(response)["file-scan-tasks"])
