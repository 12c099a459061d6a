"""Returns domain errors from Spark's executors as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from sluicegate.api import SluicegateError
from sluicegate_spark.conversion.executor_errors import failure_of

PROBLEM: Final = "problem"
"""The column of each frame that contains an error, and then nothing else."""


def caught(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield batches of a schema. A domain error is the last row."""
    try:
        yield from batches
    except SluicegateError as error:
        yield pa.RecordBatch.from_pylist([{PROBLEM: failure_of(error)}], schema)
