"""VACUUM has as many Spark tasks as the cluster and the table need."""

from __future__ import annotations

import pytest

from sluicegate_spark.maintenance.vacuum import vacuum_settings

LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
SHUFFLE = "spark.sql.shuffle.partitions"
DELETION = "spark.databricks.delta.vacuum.parallelDelete.parallelism"


@pytest.mark.parametrize(
    ("files", "cores", "listing", "shuffle"),
    [
        (0, 2, 2, 2),
        (80, 64, 64, 64),
        (100_000, 64, 100, 64),
        (10**7, 64, 256, 200),
        (10**9, 8, 32, 10_000),
        (10**9, 512, 2_048, 10_000),
    ],
)
def test_spark_tasks_by_files_and_cores(files: int, cores: int, listing: int, shuffle: int) -> None:
    settings = vacuum_settings(files, cores)
    assert settings[LISTING] == settings[DELETION] == str(listing)
    assert settings[SHUFFLE] == str(shuffle)
