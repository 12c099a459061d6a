"""Decides how many Spark tasks VACUUM divides its work into.

By default, 10,000 Spark tasks list a directory, even if it has one file, and Spark's driver deletes
files one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping

_FILES_OF_TASK = 50_000  # of the table's state and of the listing, in a shuffle
_DELETIONS_OF_TASK = 1_000
_MOST_TASKS = 10_000
_TASKS_OF_CORE = 4


def vacuum_settings(files: int, cores: int) -> Mapping[str, str]:
    """Return settings for a VACUUM."""
    balanced = min(_TASKS_OF_CORE * cores, max(1, -(-files // _DELETIONS_OF_TASK)))
    shuffled = min(_MOST_TASKS, max(cores, -(-files // _FILES_OF_TASK)))
    return {
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(max(cores, balanced)),
        "spark.sql.shuffle.partitions": str(shuffled),
        "spark.databricks.delta.vacuum.parallelDelete.enabled": "true",
        "spark.databricks.delta.vacuum.parallelDelete.parallelism": str(max(cores, balanced)),
    }
