"""Removes files in an Iceberg table's directory that the table doesn't use.

Spark tasks list the directory in ranges of keys. Spark compares it with the files that the table's
metadata names, and deletes the rest in waves. The operation is imported with the first task, because it
imports Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sluicegate.api import TaskResult
    from sluicegate_spark.work import Work

ORPHAN_FILE_REMOVAL: Final = "ORPHAN_FILE_REMOVAL"


async def orphans(work: Work) -> TaskResult:
    """See `sluicegate_spark.orphans.operation`."""
    from sluicegate_spark.orphans.operation import remove_orphans

    return await remove_orphans(work)
