"""Purges an Iceberg table: deletes all of its files, the current metadata file last.

Source: Polaris delegation proposal, "Order Of Deletion".
"""

from __future__ import annotations

from sluicegate_spark.purge.dropped_tables import dropped_table
from sluicegate_spark.purge.operation import TABLE_PURGE, finished_result, has_purged_metadata, purge

__all__ = ["TABLE_PURGE", "dropped_table", "finished_result", "has_purged_metadata", "purge"]
