"""The purge of an Iceberg table: all of its files are deleted, its current metadata last.

Source: polaris-delegation-service.md, "Order Of Deletion".
"""

from __future__ import annotations

from sluicegate_spark.purge.operation import TABLE_PURGE, gone_with_table, purge, purged_with_table

__all__ = ["TABLE_PURGE", "gone_with_table", "purge", "purged_with_table"]
