from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from support.gateways.memory_gateway import MemoryGateway, memory_gateway
from support.gateways.vector_views import all_files, vector_view
from support.tables.vectors import inline_vector

from sluicegate.api import UnsupportedOperation
from sluicegate.protocols.iceberg_rest.deletion_vectors.delete_files import (
    MOST_ROWS,
    ByFormatVersion,
    PositionFiles,
)
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlob
from sluicegate.protocols.iceberg_rest.view import TableView
from sluicegate.tables.snapshot import FileSet

PUFFIN = VectorBlob("~/vectors-0.puffin", 4, 48, 2, 900)


class Vectors:
    """Says that each file has the same vector."""

    def need_all(self, files: FileSet) -> bool:
        return True

    async def of(self, view: TableView, files: pa.Table) -> Sequence[VectorBlob | None]:
        return [PUFFIN] * files.num_rows


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway()


async def test_each_data_file_with_deleted_rows_has_a_file(gateway: MemoryGateway) -> None:
    view = await vector_view(gateway, {"b": inline_vector([1]), "a": inline_vector([1, 2]), "c": None})
    first, second, none = await PositionFiles().of(view, all_files(view))
    assert first is not None
    assert second is not None
    assert none is None
    assert first.path != second.path
    assert (first.cardinality, second.cardinality) == (1, 2)
    assert first.file_size < second.file_size


async def test_more_rows_than_fit_into_memory_are_refused(gateway: MemoryGateway) -> None:
    view = await vector_view(gateway, {"a": {**inline_vector([1]), "cardinality": MOST_ROWS + 1}})
    with pytest.raises(UnsupportedOperation, match=f"at most {MOST_ROWS} of them"):
        await PositionFiles().of(view, all_files(view))


@pytest.mark.parametrize(("version", "is_vector"), [(1, False), (2, False), (3, True)])
async def test_the_format_version_decides(
    gateway: MemoryGateway, version: int, is_vector: bool
) -> None:
    view = await vector_view(gateway, {"a": inline_vector([1])})
    shown = replace(view, shape=replace(view.shape, format_version=version))
    [found] = await ByFormatVersion(Vectors(), PositionFiles()).of(shown, all_files(view))
    assert (found == PUFFIN) is is_vector
