"""Writes copies of tables that contain only what recipients can see, as Delta tables.

The operation is imported with the first task, because it imports Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sluicegate.api import TaskResult
    from sluicegate_spark.work import Work

REFRESH_MATERIALIZATION: Final = "REFRESH_MATERIALIZATION"


async def refresh_materialization(work: Work) -> TaskResult:
    """See `sluicegate_spark.materialization.operation`."""
    from sluicegate_spark.materialization import operation

    return await operation.refresh_materialization(work)
