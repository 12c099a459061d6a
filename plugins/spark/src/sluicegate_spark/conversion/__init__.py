"""Iceberg tables as Delta tables and Delta tables as Iceberg tables, of the same data files.

The operations import Arrow late: with the first task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sluicegate.api import TaskResult
    from sluicegate_spark.work import Work

CONVERT_TO_DELTA: Final = "CONVERT_TO_DELTA"
CONVERT_TO_ICEBERG: Final = "CONVERT_TO_ICEBERG"


async def to_delta(work: Work) -> TaskResult:
    """See `sluicegate_spark.conversion.to_delta`."""
    from sluicegate_spark.conversion.to_delta import convert_to_delta

    return await convert_to_delta(work)


async def to_iceberg(work: Work) -> TaskResult:
    """See `sluicegate_spark.conversion.to_iceberg`."""
    from sluicegate_spark.conversion.to_iceberg import convert_to_iceberg

    return await convert_to_iceberg(work)
