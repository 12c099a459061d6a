from __future__ import annotations

from typing import Any

import pytest
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import iceberg_view
from support.tables.memory_tables import file, snapshot

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate.protocols.iceberg_rest.manifests.files import check_manifests
from sluicegate.tables.snapshot import FileSet

BY_DAY = table_metadata([schema_field("id", "long"), schema_field("day", "date")], ["day"])
VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 40, "cardinality": 2}


async def check(*rows: dict[str, Any]) -> None:
    check_manifests(await iceberg_view(BY_DAY, snapshot(*rows).files))


def row(day: str, **more: Any) -> dict[str, Any]:
    return file("a", partition_values=f'{{"day":"{day}"}}', **more)


async def test_manifests_of_most_tables_can_be_generated() -> None:
    await check(row("2026-01-02"), row("2026-01-03", deletion_vector=VECTOR))


async def test_a_table_without_files_has_nothing_to_check() -> None:
    """PyArrow crashes in `indices_nonzero` for columns without chunks."""
    check_manifests(await iceberg_view(BY_DAY, FileSet.of([])))


async def test_a_value_that_its_column_cannot_have_is_refused() -> None:
    with pytest.raises(UnsupportedOperation, match="day"):
        await check(row("yesterday"))


async def test_a_vector_without_a_size_is_refused() -> None:
    with pytest.raises(TableUnreadable, match="malformed deletion vector"):
        await check(row("2026-01-02", deletion_vector={**VECTOR, "sizeInBytes": -1}))
