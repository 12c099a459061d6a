"""The operations that the executor runs, by the names that tasks have on the wire."""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate_spark.purge import TABLE_PURGE, purge
from sluicegate_spark.work import Operation

OPERATIONS: Mapping[str, Operation] = {
    TABLE_PURGE: purge,
}
