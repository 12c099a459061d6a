"""Deletion vectors for Iceberg clients: in place and in generated files, they are the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from support.gateways.memory_gateway import MemoryGateway, memory_gateway, shared_table
from support.gateways.vector_views import MarkedPaths, all_files
from support.tables.deltalog import DeltaFolder
from support.tables.golden import require_golden_tables
from support.tables.reader_tables.tables import ReaderTables
from support.tables.snapshots import latest

from sluicegate.protocols.iceberg_rest.deletion_vectors.delete_files import PuffinVectors, StoredVectors
from sluicegate.protocols.iceberg_rest.deletion_vectors.generation import VectorFiles, VectorSources
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlob
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.iceberg.shape import IcebergShape, Struct

OWN = ["vectors-replaced", "vectors-by-partition-in-a-checkpoint"]
GOLDEN = ["dv-partitioned-with-checkpoint", "log-replay-dv-key-cases"]


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway()


async def view_of(gateway: MemoryGateway, root: Path) -> IcebergView:
    folder = DeltaFolder(root)
    snapshot = await latest(folder)
    opened = await gateway.open(shared_table())
    table = replace(opened, source=folder.table(), directory=folder.directory)
    shape = IcebergShape(Struct(()), (), 0, 3)
    return IcebergView(table, snapshot, snapshot.files, shape, MarkedPaths())


def in_place(root: Path, places: Sequence[VectorBlob | None], files: Sequence[str]) -> dict[str, bytes]:
    """The bytes at the places of vectors, by the path of the data file for clients."""
    found = {}
    for blob, path in zip(places, MarkedPaths().of(files), strict=True):
        if blob is not None:
            content = (root / blob.path).read_bytes()
            assert blob.file_size <= len(content)
            found[path] = content[blob.offset : blob.offset + blob.size]
    return found


async def generated(
    gateway: MemoryGateway, view: IcebergView, places: Sequence[VectorBlob | None]
) -> dict[str, bytes]:
    """The blobs of the generated file, by the path of the data file for clients."""
    assert {blob.path for blob in places if blob} == {"~/vectors-0.puffin"}
    content = await VectorFiles(VectorSources(gateway.instances, gateway.reader)).content(view, 0)
    file = PuffinFile(content)
    for vector, described in zip(
        deletion_vectors_from_puffin_file(file), file.footer.blobs, strict=True
    ):
        rows = vector.to_vector()
        assert isinstance(rows, pa.ChunkedArray)
        assert str(len(rows)) == described.properties["cardinality"]
    return {
        blob.properties["referenced-data-file"]: file.get_blob_payload(blob)
        for blob in file.footer.blobs
    }


@pytest.mark.parametrize("name", [*OWN, *GOLDEN])
async def test_vectors_in_place_are_those_of_generated_files(
    gateway: MemoryGateway, tables: ReaderTables, name: str
) -> None:
    if name in GOLDEN:
        require_golden_tables()
    root = tables.table(name).location
    view = await view_of(gateway, root)
    files = all_files(view)
    paths = files.column("path").to_pylist()
    stored = in_place(root, await StoredVectors().of(view, files), paths)
    assert stored
    assert await generated(gateway, view, await PuffinVectors().of(view, files)) == stored
