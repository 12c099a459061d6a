"""Maintains tables: compaction, snapshot expiry, VACUUM.

The operations are imported with the first task, because some of them import Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sluicegate.api import TaskResult
    from sluicegate_spark.work import Work

TABLE_COMPACTION: Final = "TABLE_COMPACTION"
SNAPSHOT_EXPIRY: Final = "SNAPSHOT_EXPIRY"
TABLE_VACUUM: Final = "TABLE_VACUUM"


async def compaction(work: Work) -> TaskResult:
    """See `sluicegate_spark.maintenance.compaction`."""
    from sluicegate_spark.maintenance.compaction import compact

    return await compact(work)


async def expiry(work: Work) -> TaskResult:
    """See `sluicegate_spark.maintenance.expiry`."""
    from sluicegate_spark.maintenance.expiry import expire

    return await expire(work)


async def vacuum(work: Work) -> TaskResult:
    """See `sluicegate_spark.maintenance.vacuum`."""
    from sluicegate_spark.maintenance.vacuum import run_vacuum

    return await run_vacuum(work)
