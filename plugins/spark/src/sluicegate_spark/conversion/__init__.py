"""Converts Iceberg tables to Delta tables and back without copying data files.

The operations are imported with the first task, because they import Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sluicegate.api import TaskResult
    from sluicegate_spark.work import Work

CONVERT_TO_DELTA: Final = "CONVERT_TO_DELTA"
CONVERT_TO_ICEBERG: Final = "CONVERT_TO_ICEBERG"


async def convert_to_delta(work: Work) -> TaskResult:
    """See `sluicegate_spark.conversion.to_delta.operation`."""
    from sluicegate_spark.conversion.to_delta import operation

    return await operation.convert_to_delta(work)


async def convert_to_iceberg(work: Work) -> TaskResult:
    """See `sluicegate_spark.conversion.to_iceberg.operation`."""
    from sluicegate_spark.conversion.to_iceberg import operation

    return await operation.convert_to_iceberg(work)
