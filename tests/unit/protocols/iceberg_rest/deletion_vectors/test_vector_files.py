"""Generated Puffin files: their bytes, where they come from, and damaged or hostile sources."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from support.gateways.memory_gateway import MemoryGateway, catalog_table, memory_gateway, shared_table
from support.gateways.memory_instances import LAKE, SigningStorage
from support.gateways.vector_views import ROOT, all_files, put_vector, vector_view
from support.tables.memory_tables import MemoryFormat
from support.tables.vectors import inline_vector, vector_file

from sluicegate.api.errors import NotFound, TableUnreadable, UnsupportedOperation
from sluicegate.protocols.iceberg_rest.deletion_vectors.delete_files import PuffinVectors
from sluicegate.protocols.iceberg_rest.deletion_vectors.generation import VectorFiles, VectorSources
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.derived_files import DERIVED, DerivedFile


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway()


def files(gateway: MemoryGateway) -> VectorFiles:
    return VectorFiles(VectorSources(gateway.instances, gateway.reader))


def deleted(content: bytes) -> dict[str, list[int]]:
    """The deleted rows by data file, as PyIceberg reads them."""
    return {
        vector.referenced_data_file.removeprefix("s3://SG/proof/"): vector.to_vector().to_pylist()
        for vector in deletion_vectors_from_puffin_file(PuffinFile(content))
    }


async def test_a_file_has_the_layout_that_the_plan_says(gateway: MemoryGateway) -> None:
    vectors = {name: await put_vector(gateway, [3, 5, n]) for n, name in enumerate("ab", 9)}
    view = await vector_view(gateway, vectors)
    content = await files(gateway).content(view, 0)
    parsed = PuffinFile(content)
    for blob, described in zip(
        await PuffinVectors().of(view, all_files(view)), parsed.footer.blobs, strict=True
    ):
        assert blob is not None
        assert (blob.offset, blob.size) == (described.offset, described.length)
        assert blob.file_size == len(content)
        assert described.properties["cardinality"] == str(blob.cardinality)
        assert (described.type, described.fields) == ("deletion-vector-v1", [2147483645])
        assert (described.snapshot_id, described.sequence_number) == (-1, -1)
    assert deleted(content) == {"a": [3, 5, 9], "b": [3, 5, 10]}


async def test_inline_vectors_come_from_their_descriptors(gateway: MemoryGateway) -> None:
    vectors = {f"f{size}": inline_vector(range(size)) for size in (1, 2, 3, 4)}
    content = await files(gateway).content(await vector_view(gateway, vectors), 0)
    assert deleted(content) == {f"f{size}": list(range(size)) for size in (1, 2, 3, 4)}


async def test_derived_vectors_come_from_the_format() -> None:
    reads = MemoryFormat()
    gateway = memory_gateway(format=reads)
    _, content, stored = vector_file([7])
    file = DerivedFile.of(content, "recipe")
    reads.generated = {"recipe": content}
    vector = stored | {"storageType": DERIVED, "pathOrInlineDv": str(file)}
    view = await vector_view(gateway, {"a": vector})
    assert deleted(await files(gateway).content(view, 0)) == {"a": [7]}


async def test_several_vectors_of_one_file_are_read(gateway: MemoryGateway) -> None:
    vectors = {}
    content = b"\1"
    for number in range(20):
        _, alone, vector = vector_file([number])
        vectors[f"f{number:02}"] = vector | {
            "storageType": "p",
            "pathOrInlineDv": f"{ROOT}/all.bin",
            "offset": len(content),
        }
        content += alone[1:] + bytes(number % 3 * 20_000)  # some are far apart
    await gateway.storage.put(f"{ROOT}/all.bin", content)
    view = await vector_view(gateway, vectors)
    read = deleted(await files(gateway).content(view, 0))
    assert read == {f"f{number:02}": [number] for number in range(20)}


async def test_a_view_has_no_other_files(gateway: MemoryGateway) -> None:
    view = await vector_view(gateway, {"a": inline_vector([1]), "b": None})
    for number in (1, 2, 9_999_999_999):
        with pytest.raises(NotFound):
            await files(gateway).content(view, number)
    with pytest.raises(NotFound):
        await files(gateway).content(await vector_view(gateway, {"a": None}), 0)


async def broken(gateway: MemoryGateway, view: IcebergView) -> str:
    with pytest.raises(TableUnreadable) as caught:
        await files(gateway).content(view, 0)
    return str(caught.value.message)


@pytest.mark.parametrize("size", [0, 1, 4, 5, 20, -1])
async def test_truncated_files_are_errors_that_name_the_table(
    gateway: MemoryGateway, size: int
) -> None:
    name, content, vector = vector_file([1, 2])
    await gateway.storage.put(f"{ROOT}/{name}", content[:size])
    view = await vector_view(gateway, {"a": vector})
    assert (await broken(gateway, view)).startswith(f"{shared_table().full_name}: ")


@pytest.mark.parametrize("position", [1, 4, 5, 8, 20, -1])
async def test_damaged_bytes_are_errors(gateway: MemoryGateway, position: int) -> None:
    name, content, vector = vector_file([1, 2])
    damaged = bytearray(content)
    damaged[position] ^= 1
    await gateway.storage.put(f"{ROOT}/{name}", bytes(damaged))
    assert "damaged" in await broken(gateway, await vector_view(gateway, {"a": vector}))


@pytest.mark.parametrize(
    "values",
    [
        {"offset": 0},
        {"offset": 2},
        {"offset": (1 << 31) - 1},
        {"sizeInBytes": 12},
        {"sizeInBytes": 4000},
    ],
)
async def test_wrong_places_are_errors(gateway: MemoryGateway, values: dict[str, Any]) -> None:
    vector = await put_vector(gateway, [1, 2])
    view = await vector_view(gateway, {"a": vector | values})
    assert "damaged" in await broken(gateway, view)


@pytest.mark.parametrize(
    "values",
    [
        {"pathOrInlineDv": "~~~~~" * 9},
        {"pathOrInlineDv": "#####" * 9},  # larger than 32 bits
        {"pathOrInlineDv": "é" * 45},
        {"pathOrInlineDv": "00000" * 9},
        {"pathOrInlineDv": "0"},
        {"sizeInBytes": 20_000_000},
    ],
)
async def test_damaged_inline_vectors_are_errors(
    gateway: MemoryGateway, values: dict[str, Any]
) -> None:
    vector = inline_vector([1, 2])
    assert await broken(gateway, await vector_view(gateway, {"a": vector | values}))


async def test_a_missing_file_is_an_error(gateway: MemoryGateway) -> None:
    vector = await put_vector(gateway, [1], root=f"{LAKE}/elsewhere")
    assert "missing" in await broken(gateway, await vector_view(gateway, {"a": vector}))


async def test_a_file_that_the_format_no_longer_makes_is_an_error(gateway: MemoryGateway) -> None:
    vector = inline_vector([1]) | {
        "storageType": DERIVED,
        "pathOrInlineDv": str(DerivedFile.of(b"", "gone")),
        "offset": 1,
    }
    assert await broken(gateway, await vector_view(gateway, {"a": vector}))


@pytest.mark.parametrize(
    "root", [f"{LAKE}/other", f"{ROOT}/../other", f"{LAKE}/orders2", "memory://nowhere/x"]
)
async def test_files_that_the_table_may_not_name_are_not_read(
    gateway: MemoryGateway, root: str
) -> None:
    name, content, vector = vector_file([1])
    await gateway.storage.put(f"{LAKE}/other/{name}", content)
    vector |= {"storageType": "p", "pathOrInlineDv": f"{root}/{name}"}
    view = await vector_view(gateway, {"a": vector})
    with pytest.raises(UnsupportedOperation):
        await files(gateway).content(view, 0)


async def test_files_of_other_storage_are_read_where_it_is_allowed() -> None:
    pond = SigningStorage("memory://pond/")
    source = catalog_table(auxiliary_locations=("memory://pond/orders",))
    gateway = memory_gateway(sources=[source], more_storage=[pond])
    _, content, vector = vector_file([4])
    await pond.put("memory://pond/orders/v.bin", content)
    vector |= {"storageType": "p", "pathOrInlineDv": "memory://pond/orders/v.bin"}
    view = await vector_view(gateway, {"a": vector})
    assert deleted(await files(gateway).content(view, 0)) == {"a": [4]}
