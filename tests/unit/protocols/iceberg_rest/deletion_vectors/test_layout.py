"""Layouts of generated files: places, members and sizes, and how long they are kept."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import anyio.to_thread
import pyarrow as pa
import pytest
from support.gateways.memory_gateway import memory_gateway
from support.gateways.vector_views import MarkedPaths, all_files, vector_view
from support.tables.vectors import inline_vector, vector_file

from sluicegate.api.errors import NotFound, UnsupportedOperation
from sluicegate.protocols.iceberg_rest.deletion_vectors import layout as layout_module
from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import Layouts, VectorLayout, described
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.iceberg.puffin import file_size
from sluicegate.tables.iceberg.vector_blobs import Vector, vectors_of
from sluicegate.tables.snapshot import FileSet


async def view_with_vectors(count: int) -> IcebergView:
    vectors = {f"f{number:04}": inline_vector([number]) for number in range(count)}
    return await vector_view(memory_gateway(), vectors | {"stored": vector_file([1])[2]})


def vectors_in(view: IcebergView) -> dict[str, Vector]:
    files = all_files(view)
    found = vectors_of(files.column("deletion_vector"))
    return {
        path: vector
        for path, vector in zip(files.column("path").to_pylist(), found, strict=True)
        if vector is not None
    }


async def test_each_vector_is_a_member_of_the_file_at_its_place() -> None:
    view = await view_with_vectors(300)
    layout = VectorLayout(view.files, stored=True)
    for path, vector in vectors_in(view).items():
        number, offset = layout.place(path, vector)
        members = layout.members(number)
        before = members[: members.index((path, vector))]
        assert offset == 4 + sum(other.size for _, other in before)
    assert [len(layout.members(number)) for number in range(3)] == [256, 44, 1]


async def test_stored_vectors_have_no_place_for_clients_that_read_them_elsewhere() -> None:
    view = await view_with_vectors(1)
    layout = VectorLayout(view.files, stored=False)
    with pytest.raises(UnsupportedOperation):
        layout.place("stored", vectors_in(view)["stored"])
    with pytest.raises(NotFound):
        layout.members(1)


async def test_files_that_are_not_shared_have_no_place() -> None:
    view = await view_with_vectors(2)
    mask = [path != "f0000" for path in view.files.table.column("path").to_pylist()]
    layout = VectorLayout(view.files.where(pa.array(mask)), stored=True)
    assert [path for path, _ in layout.members(0)] == ["f0001"]


async def test_the_size_of_a_file_includes_the_paths_of_the_view() -> None:
    view = await view_with_vectors(2)
    layout = VectorLayout(view.files, stored=True)
    assert layout.file_size(0, view.paths) == file_size(described(layout.members(0), view.paths))


class Counted(VectorLayout):
    """A layout that counts how many exist."""

    made = 0

    def __init__(self, files: FileSet, *, stored: bool, per_file: int) -> None:
        super().__init__(files, stored=stored, per_file=per_file)
        Counted.made += 1


async def test_a_layout_is_computed_once_for_a_view_and_dropped_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layout_module, "VectorLayout", Counted)
    monkeypatch.setattr(Counted, "made", 0)
    kept = Layouts(stored=True)
    view = await view_with_vectors(3)
    vectors = vectors_in(view)
    paths: Sequence[str] = list(vectors)
    first = await kept.blobs(view, paths, list(vectors.values()))
    assert await kept.blobs(view, paths, list(vectors.values())) == first
    assert (await kept.blobs(view, ["a"], [None]), Counted.made) == ({}, 1)
    again = IcebergView(view.table, view.snapshot, view.files, view.shape, MarkedPaths())
    assert await kept.blobs(again, paths, list(vectors.values())) == first
    assert Counted.made == 2
    del view, again
    await anyio.to_thread.run_sync(int)  # until then, the worker thread keeps its last arguments
    gc.collect()
    assert not [each for each in gc.get_objects() if type(each) is Counted]
