"""Parts are small, waves use all cores, and each part is processed until it is finished."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate_spark.purge.deletion import BATCH
from sluicegate_spark.purge.wave_rule import Cluster, PartQueue

FILES = st.integers(min_value=0, max_value=10**10)
CORES = st.integers(min_value=1, max_value=4096)


@given(FILES, CORES)
def test_a_wave_has_work_for_all_cores_as_long_as_there_is_a_batch_for_each(
    files: int, cores: int
) -> None:
    cluster = Cluster(cores)
    assert cluster.width >= cores
    assert cluster.parts(files) >= min(cores, files // BATCH)


@given(FILES, CORES)
def test_the_number_of_parts_has_a_limit(files: int, cores: int) -> None:
    assert 1 <= Cluster(cores).parts(files) <= max(10_000, 4 * cores)


@pytest.mark.parametrize("files", [10**6, 10**7, 10**8])
def test_parts_have_a_limited_number_of_files(files: int) -> None:
    assert files / Cluster(8).parts(files) <= 25_000


def test_a_cluster_that_cannot_select_parts_processes_all_of_them_in_each_wave() -> None:
    cluster = Cluster(8, prunes=False)
    assert cluster.parts(10**9) <= cluster.width


@given(CORES, st.integers(min_value=1, max_value=10**6), st.booleans())
def test_spark_tasks_share_the_limit_on_deletions(cores: int, limit: int, prunes: bool) -> None:
    cluster = Cluster(cores, limit, prunes=prunes)
    at_once = min(cluster.width, cores)
    assert cluster.deletions_per_task == pytest.approx(limit / at_once)
    if prunes:
        assert at_once == min(cores, max(1, limit // 250))


@given(st.integers(min_value=0, max_value=200), st.integers(min_value=1, max_value=50))
def test_each_part_is_taken_until_it_is_finished(parts: int, width: int) -> None:
    queue, taken = PartQueue(parts), list[tuple[int, str]]()
    while queue:
        wave = queue.take(width)
        assert 1 <= len(wave) <= width
        taken += [(part.number, part.after) for part in wave]
        queue.put_back(replace(part, after="half") for part in wave if not part.after)
    assert sorted(taken) == sorted((number, after) for number in range(parts) for after in ("", "half"))


def test_parts_that_were_begun_come_first() -> None:
    queue = PartQueue(4)
    first, second = queue.take(2)
    queue.put_back([replace(second, after="x")])
    assert [part.number for part in queue.take(3)] == [second.number, 2, 3]
    assert first.number == 0
