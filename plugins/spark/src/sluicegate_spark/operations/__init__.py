"""The operations of the executor, by their names in task payloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sluicegate_spark.conversion import (
    CONVERT_TO_DELTA,
    CONVERT_TO_ICEBERG,
    convert_to_delta,
    convert_to_iceberg,
)
from sluicegate_spark.maintenance import (
    SNAPSHOT_EXPIRY,
    TABLE_COMPACTION,
    TABLE_VACUUM,
    compact,
    expire,
    run_vacuum,
)
from sluicegate_spark.materialization import REFRESH_MATERIALIZATION, refresh_materialization
from sluicegate_spark.orphans import ORPHAN_FILE_REMOVAL, orphans
from sluicegate_spark.purge import TABLE_PURGE, purge
from sluicegate_spark.work import Operation

OPERATIONS: Mapping[str, Operation] = {
    CONVERT_TO_DELTA: convert_to_delta,
    CONVERT_TO_ICEBERG: convert_to_iceberg,
    ORPHAN_FILE_REMOVAL: orphans,
    REFRESH_MATERIALIZATION: refresh_materialization,
    SNAPSHOT_EXPIRY: expire,
    TABLE_COMPACTION: compact,
    TABLE_PURGE: purge,
    TABLE_VACUUM: run_vacuum,
}

# If the payload names the location of such a table, the catalog is not queried for it.
OF_DELTA_TABLES: Final = frozenset((CONVERT_TO_ICEBERG, TABLE_VACUUM))
