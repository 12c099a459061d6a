"""Where plans say that deletion vectors are, in place and in generated files."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways.memory_gateway import MemoryGateway, memory_gateway
from support.gateways.vector_views import ROOT, MarkedPaths, all_files, put_vector, vector_view
from support.tables.vectors import inline_vector

from sluicegate.api.errors import TableUnreadable, UnsupportedOperation
from sluicegate.protocols.iceberg_rest.deletion_vectors.delete_files import PuffinVectors, StoredVectors
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlob
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.derived_files import DERIVED, DerivedFile

RELATIVE = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
RELATIVE_FILE = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
EMPTY = {"storageType": "i", "pathOrInlineDv": "", "sizeInBytes": 0, "cardinality": 0}


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway()


async def in_place(view: IcebergView) -> list[VectorBlob | None]:
    return list(await StoredVectors().of(view, all_files(view)))


async def generated(view: IcebergView) -> list[VectorBlob | None]:
    return list(await PuffinVectors().of(view, all_files(view)))


async def test_a_stored_vector_is_read_where_it_is(gateway: MemoryGateway) -> None:
    view = await vector_view(gateway, {"a": None, "b": RELATIVE})
    assert await in_place(view) == [None, VectorBlob(RELATIVE_FILE, 4, 48, 6, 52)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [(f"{ROOT}/deep/v.bin", "deep/v.bin"), ("memory://pond/v.bin", "memory://pond/v.bin")],
)
async def test_a_file_is_named_relative_to_the_table_if_it_is_inside(
    gateway: MemoryGateway, path: str, expected: str
) -> None:
    vector = RELATIVE | {"storageType": "p", "pathOrInlineDv": path}
    (blob,) = await in_place(await vector_view(gateway, {"a": vector}))
    assert blob is not None
    assert blob.path == expected


async def test_without_an_offset_the_vector_follows_the_version_of_its_file(
    gateway: MemoryGateway,
) -> None:
    (blob,) = await in_place(await vector_view(gateway, {"a": RELATIVE | {"offset": None}}))
    assert blob is not None
    assert (blob.offset, blob.file_size) == (1, 49)


async def test_inline_vectors_are_in_a_generated_file(gateway: MemoryGateway) -> None:
    vectors = {"b": inline_vector([1]), "a": inline_vector([1, 2]), "c": RELATIVE}
    first, second, third = await in_place(await vector_view(gateway, vectors))
    assert first is not None
    assert second is not None
    assert third is not None
    assert [first.path, second.path, third.path] == ["~/vectors-0.puffin"] * 2 + [RELATIVE_FILE]
    assert (second.offset, first.offset) == (4, 4 + second.size)  # sorted by the data file's path
    assert (first.cardinality, second.cardinality) == (1, 2)


async def test_clients_of_both_kinds_see_inline_vectors_at_the_same_place(
    gateway: MemoryGateway,
) -> None:
    file = DerivedFile.of(b"", "recipe")
    derived = RELATIVE | {"storageType": DERIVED, "pathOrInlineDv": str(file)}
    vectors = {"a": RELATIVE, "b": inline_vector([1]), "c": derived, "d": inline_vector([2])}
    view = await vector_view(gateway, vectors)
    placed, complete = await in_place(view), await generated(view)
    assert placed[1:] == complete[1:]
    names = [blob and blob.path for blob in complete]
    assert names == [f"~/vectors-{number}.puffin" for number in (2, 0, 1, 0)]


async def test_the_order_of_the_snapshot_does_not_matter(gateway: MemoryGateway) -> None:
    vectors = {f"f{number}": inline_vector(range(number + 1)) for number in range(600)}
    backwards = dict(reversed(vectors.items()))
    blobs = await generated(await vector_view(gateway, vectors))
    assert blobs == (await generated(await vector_view(gateway, backwards)))[::-1]
    assert {blob.path for blob in blobs if blob} == {f"~/vectors-{n}.puffin" for n in range(3)}


async def test_large_vectors_fill_a_file_earlier(gateway: MemoryGateway) -> None:
    vectors = {name: RELATIVE | {"sizeInBytes": 5 << 20} for name in "abc"}
    blobs = await generated(await vector_view(gateway, vectors))
    assert [blob and (blob.path, blob.offset) for blob in blobs] == [
        (f"~/vectors-{number}.puffin", 4) for number in range(3)
    ]


async def test_an_empty_vector_deletes_nothing(gateway: MemoryGateway) -> None:
    view = await vector_view(gateway, {"a": EMPTY})
    assert (await in_place(view), await generated(view)) == ([None], [None])


async def test_a_vector_that_the_last_snapshot_does_not_have_is_refused_in_generated_files(
    gateway: MemoryGateway,
) -> None:
    view = await vector_view(gateway, {"a": inline_vector([1])})
    for other in ({"b": inline_vector([1])}, {"a": inline_vector([2])}, {"a": RELATIVE}):
        appended = all_files(await vector_view(gateway, other))
        with pytest.raises(UnsupportedOperation, match="incremental"):
            await PuffinVectors().of(view, appended)


async def test_the_paths_of_each_view_have_a_layout_of_their_own(gateway: MemoryGateway) -> None:
    blobs = PuffinVectors()
    for rows in ([1], [1, 2]):
        view = await vector_view(gateway, {"a": inline_vector(rows)})
        assert isinstance(view.paths, MarkedPaths)
        (blob,) = await blobs.of(view, all_files(view))
        assert blob is not None
        assert blob.cardinality == len(rows)


@pytest.mark.parametrize(
    "values",
    [
        {"storageType": None},
        {"storageType": "x"},
        {"pathOrInlineDv": None},
        {"pathOrInlineDv": "short"},
        {"pathOrInlineDv": "\\" * 20},
        {"offset": -1},
        {"sizeInBytes": None},
        {"sizeInBytes": -1},
        {"sizeInBytes": -8},
        {"sizeInBytes": -(1 << 31)},
        {"sizeInBytes": 0},
        {"sizeInBytes": 11},
        {"sizeInBytes": (1 << 31) - 1},
        {"cardinality": None},
        {"cardinality": -1},
    ],
)
async def test_malformed_descriptors_are_errors_of_the_table(
    gateway: MemoryGateway, values: dict[str, Any]
) -> None:
    view = await vector_view(gateway, {"a": RELATIVE | values})
    for plan in (in_place, generated):
        with pytest.raises(TableUnreadable):
            await plan(view)


async def test_a_vector_that_is_too_large_to_generate_is_refused(gateway: MemoryGateway) -> None:
    view = await vector_view(gateway, {"a": RELATIVE | {"sizeInBytes": 1 << 30}})
    with pytest.raises(UnsupportedOperation, match="1073741824 bytes"):
        await generated(view)
    assert [blob and blob.size for blob in await in_place(view)] == [(1 << 30) + 8]


async def test_a_data_file_with_two_vectors_is_an_error_of_the_table(gateway: MemoryGateway) -> None:
    one = await vector_view(gateway, {"a": await put_vector(gateway, [1])})
    table = one.files.table
    twice = type(one.files)(type(table).from_batches([*table.to_batches()] * 2), one.files.stats * 2)
    view = IcebergView(one.table, one.snapshot, twice, one.shape, MarkedPaths())
    with pytest.raises(TableUnreadable, match="two deletion vectors"):
        await generated(view)
