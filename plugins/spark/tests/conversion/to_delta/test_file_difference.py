"""Files that a commit adds and removes, without Spark."""

from __future__ import annotations

import pyarrow as pa

from sluicegate.formats import FileSet
from sluicegate_spark.conversion.to_delta.operation import difference

from ..delta_parts import VECTOR, files_of


def test_a_file_with_other_deleted_rows_is_another_one() -> None:
    before = files_of({"path": "a", "size": 1}, {"path": "b", "size": 1}, {"path": "c", "size": 1})
    after = files_of({"path": "a", "size": 1}, {"path": "b", "size": 1, "deletion_vector": VECTOR})
    assert paths(difference(after, before)) == ["b"]
    assert paths(difference(before, after)) == ["b", "c"]
    without_a = before.where(pa.array([False, True, True]))
    assert paths(difference(after, without_a)) == ["a", "b"]


def paths(files: FileSet) -> list[str]:
    return [path for batch in files.batches(10) for path in batch.column("path").to_pylist()]
