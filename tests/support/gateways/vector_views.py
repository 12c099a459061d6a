"""Views of tables whose files have deletion vectors, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from support.gateways.memory_gateway import MemoryGateway, shared_table
from support.gateways.memory_instances import LAKE
from support.tables.memory_tables import file, snapshot
from support.tables.vectors import vector_file

from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.iceberg.shape import IcebergShape, Struct

ROOT = f"{LAKE}/orders"
Descriptor = Mapping[str, Any]


class MarkedPaths:
    """Paths for clients that differ from the table's own."""

    def of(self, paths: Sequence[str]) -> list[str]:
        """The paths after a mark."""
        return [f"s3://SG/proof/{path}" for path in paths]


async def vector_view(gateway: MemoryGateway, vectors: Mapping[str, Descriptor | None]) -> IcebergView:
    """A view with files of these paths, which have these deletion vectors."""
    made = snapshot(*(file(path, deletion_vector=vector) for path, vector in vectors.items()))
    table = await gateway.open(shared_table())
    shape = IcebergShape(Struct(()), (), 0, 3)
    return IcebergView(table, made, made.files, shape, MarkedPaths())


def all_files(view: IcebergView) -> pa.Table:
    """The files of a view in one batch."""
    return pa.concat_tables(view.files.batches(1000))


async def put_vector(gateway: MemoryGateway, rows: Sequence[int], root: str = ROOT) -> dict[str, Any]:
    """Store a vector in a file of its own; its descriptor."""
    name, content, descriptor = vector_file(rows)
    await gateway.storage.put(f"{root}/{name}", content)
    return descriptor
