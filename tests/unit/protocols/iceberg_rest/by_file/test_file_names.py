"""Names in data files are read from the footers of some of them."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.gateways.memory_gateway import MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_instances import LAKE
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import Prefixed, iceberg_shape
from support.tables.memory_tables import file, snapshot

from sluicegate.protocols.iceberg_rest.by_file.file_names import FileNames
from sluicegate.protocols.iceberg_rest.view import IcebergView

ROOT = f"{LAKE}/orders"
DROPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway()


def parquet(*names: str) -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.table({name: [1] for name in names}), content)
    return content.getvalue()


async def put(gateway: MemoryGateway, path: str, content: bytes, **values: Any) -> dict[str, Any]:
    """Store a file; its row."""
    await gateway.storage.put(f"{ROOT}/{path}", content)
    return file(path, **{"size": len(content), **values})


async def view_of(gateway: MemoryGateway, *rows: dict[str, Any], **properties: str) -> IcebergView:
    metadata = table_metadata([schema_field("id", "long")], **properties)
    made = snapshot(*rows, metadata=metadata)
    table = await gateway.open(shared_table())
    return IcebergView(table, made, made.files, iceberg_shape(metadata), Prefixed())


async def test_each_set_of_names_is_returned_once(gateway: MemoryGateway) -> None:
    rows = [await put(gateway, f"{names}.parquet", parquet(*names)) for names in ("a", "ab")]
    rows.append(await put(gateway, "more.parquet", parquet("a")))
    found = await FileNames(gateway.instances).of(await view_of(gateway, *rows))
    assert found == [{"a": {}}, {"a": {}, "b": {}}]


async def test_files_that_cannot_be_read_are_skipped(gateway: MemoryGateway) -> None:
    content = parquet("a")
    rows = [
        await put(gateway, "damaged", b"PAR1" + bytes(40)),
        await put(gateway, "empty", b""),
        await put(gateway, "long footer", content[:-8] + b"\xff\xff\xff\x7fPAR1"),
        await put(gateway, "shorter", content, size=10 * len(content)),
        file("missing"),
        file("memory://elsewhere/absolute"),
        await put(gateway, "whole", content),
    ]
    found = await FileNames(gateway.instances).of(await view_of(gateway, *rows))
    assert found == [{"a": {}}]


@pytest.mark.parametrize(("properties", "most"), [({}, 16), (DROPPED, 64)])
async def test_files_are_spread_over_the_time_when_they_were_written(
    gateway: MemoryGateway, properties: dict[str, str], most: int
) -> None:
    rows = [
        await put(gateway, f"{number:03}", parquet(f"c{number}"), modification_time=1000 - number)
        for number in range(200)
    ]
    found = await FileNames(gateway.instances).of(await view_of(gateway, *rows, **properties))
    names = [name for each in found for name in each]
    assert len(names) == most
    assert (names[0], names[-1]) == ("c199", "c0")


async def test_footers_are_read_once(gateway: MemoryGateway) -> None:
    names = FileNames(gateway.instances)
    row = await put(gateway, "a", parquet("a"))
    first = await names.of(await view_of(gateway, row))
    await gateway.storage.put(f"{ROOT}/a", bytes(row["size"]))
    assert await names.of(await view_of(gateway, row)) == first == [{"a": {}}]
