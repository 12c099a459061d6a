"""Rows that were deleted without rewriting data files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.clients.recipient import Refusal, refusal_of
from support.gateways.iceberg_sharing import IcebergSharing
from support.tables.iceberg_deletes import (
    as_version_3,
    data_files,
    delete_by_values,
    delete_by_vectors,
    delete_positions,
)
from support.tables.rows import assert_same_rows

pytestmark = pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning")


def rows(start: int, end: int) -> pa.Table:
    return pa.table(
        {"id": pa.array(range(start, end), pa.int64()), "name": map(str, range(start, end))}
    )


def test_positions_delete_rows_of_files_that_were_there(lake: IcebergSharing) -> None:
    name, table = lake.table(rows(0, 1).schema)
    table.append(rows(0, 5))
    table.append(rows(5, 10))
    first, second = data_files(table)
    for deleted in ({first: [0, 4]}, {first: [2], second: [1, 2, 3]}, {second: [0, 1, 4]}):
        delete_positions(table, deleted)
        assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))
        assert lake.recipient.negotiated_format(name) == "delta"
    table.append(rows(10, 12))
    assert_same_rows(table.scan().to_arrow(), lake.recipient.read(name))


def test_parquet_format_would_bring_deleted_rows_back_and_is_refused(lake: IcebergSharing) -> None:
    name, table = lake.table(rows(0, 1).schema)
    table.append(rows(0, 5))
    delete_positions(table, {data_files(table)[0]: [3]})
    refused = refusal_of(lambda: lake.recipient.read(name, use_delta_format=False))
    assert refused.status == 400
    assert "deletionVectors" in refused.message


def test_vectors_of_version_3_delete_rows(lake: IcebergSharing) -> None:
    name, table = lake.table(rows(0, 1).schema)
    table.append(rows(0, 5))
    first = data_files(table)[0]
    table.append(rows(5, 10))
    (second,) = set(data_files(table)) - {first}
    delete_positions(table, {first: [4]})  # a vector holds what was deleted before, this one does not
    for deleted, left in (
        ({first: [0], second: [1, 2]}, [1, 2, 3, 4, 5, 8, 9]),
        ({second: [0, 1, 2, 3, 4]}, [0, 1, 2, 3, 4]),
    ):
        delete_by_vectors(table, deleted)
        assert sorted(lake.recipient.read(name, use_delta_format=True)["id"]) == left
    as_version_3(table)
    assert sorted(lake.recipient.read(name)["id"]) == left


def test_a_vector_counts_for_a_file_and_not_the_positions_beside_it(lake: IcebergSharing) -> None:
    name, table = lake.table(rows(0, 1).schema)
    table.append(rows(0, 5))
    (file,) = data_files(table)
    delete_by_vectors(table, {file: [0, 1]})
    delete_positions(table, {file: [1]})
    assert sorted(lake.recipient.read(name)["id"]) == [2, 3, 4]


@pytest.mark.parametrize("older", [True, False], ids=["older rows", "no older rows"])
def test_equality_deletes_are_refused_while_they_apply(lake: IcebergSharing, older: bool) -> None:
    name, table = lake.table(rows(0, 1).schema)
    table.append(rows(0, 5))
    values = pa.table({"id": pa.array([3], pa.int64())})
    delete_by_values(table, 1, values)
    if older:
        assert refusal_of(lambda: lake.recipient.read(name)) == Refusal(
            400,
            "UNSUPPORTED_OPERATION",
            "rows of the Iceberg table are deleted by equality deletes, which recipients cannot apply: "
            "the provider must compact the table (sluicegate tasks submit, with the operation "
            "TABLE_COMPACTION and the property delete-file-threshold=1; or rewrite_data_files with the "
            "same option)",
        )
    else:
        table.overwrite(rows(7, 9))
        assert sorted(lake.recipient.read(name)["id"]) == [7, 8]
