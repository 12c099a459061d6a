"""A purge takes at most half longer than its deletions alone, for tables and clusters of any size.

Calculated with the executor's own rule for waves; nothing runs.
"""

from __future__ import annotations

import pytest
from support.tasks.purge_model import WAVE_SECONDS, ideal_seconds, seconds_by_rule

from sluicegate_spark.purge.wave_rule import Cluster

RATE = 1_575  # files per second of a Spark task


@pytest.mark.parametrize("cores", [1, 8, 13, 64, 512])
@pytest.mark.parametrize("files", [1_000, 999_999, 10**6, 7 * 10**6, 10**8, 10**9])
def test_waves_use_all_cores(files: int, cores: int) -> None:
    seconds = seconds_by_rule(files, Cluster(cores), RATE)
    least = max(1_000 / RATE, ideal_seconds(files, cores, RATE))
    assert seconds <= 1.5 * least + WAVE_SECONDS


@pytest.mark.parametrize("rate", [50, 400, 6_000])
def test_waves_use_all_cores_however_fast_the_store_is(rate: int) -> None:
    ideal = ideal_seconds(10**7, 64, rate)
    assert ideal <= seconds_by_rule(10**7, Cluster(64), rate) <= 1.5 * ideal


def test_a_wave_ends_within_a_minute_if_the_store_is_slow() -> None:
    """One batch of a thousand files takes longer than the time of a Spark task."""
    cluster = Cluster(64)
    tasks_of_core = cluster.width / cluster.cores
    assert tasks_of_core * cluster.task_seconds <= 60
    assert tasks_of_core * 1_000 / 100 <= 60
