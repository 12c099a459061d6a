from __future__ import annotations

import pytest

from sluicegate.api.errors import StorageError
from sluicegate.protocols.iceberg_rest.file_access.table_files import is_beyond_the_end


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("Generic S3 error: InvalidRange: the requested range is not satisfiable", True),
        ("the range was invalid: start 10 of 8 bytes", True),
        ("HTTP status: 416 Range Not Satisfiable", True),
        ("status code 4160", False),
        ("connection refused", False),
        (None, False),
    ],
)
def test_a_range_beyond_the_end_of_a_file_differs_from_other_errors(
    detail: str | None, expected: bool
) -> None:
    assert is_beyond_the_end(StorageError("the store fails", detail=detail)) is expected
