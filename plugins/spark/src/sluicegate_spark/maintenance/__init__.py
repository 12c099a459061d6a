"""Maintains tables: compaction, snapshot expiry, VACUUM.

The operations are imported with the first task, because some of them import Arrow. A function must not
have the name of a module of this package: once the module is imported, it would replace the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sluicegate.api import TaskResult
    from sluicegate_spark.work import Work

TABLE_COMPACTION: Final = "TABLE_COMPACTION"
SNAPSHOT_EXPIRY: Final = "SNAPSHOT_EXPIRY"
TABLE_VACUUM: Final = "TABLE_VACUUM"


async def compact(work: Work) -> TaskResult:
    """See `sluicegate_spark.maintenance.compaction`."""
    from sluicegate_spark.maintenance import compaction

    return await compaction.compact(work)


async def expire(work: Work) -> TaskResult:
    """See `sluicegate_spark.maintenance.expiry`."""
    from sluicegate_spark.maintenance import expiry

    return await expiry.expire(work)


async def run_vacuum(work: Work) -> TaskResult:
    """See `sluicegate_spark.maintenance.vacuum`."""
    from sluicegate_spark.maintenance import vacuum

    return await vacuum.run_vacuum(work)
