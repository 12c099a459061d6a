from __future__ import annotations

from sluicegate_spark.cluster import Pools


def test_running_tasks_have_different_pools() -> None:
    pools = Pools()
    with pools.pool() as first, pools.pool() as second, pools.pool() as third:
        assert len({first, second, third}) == 3


def test_pools_are_reused() -> None:
    pools = Pools()
    with pools.pool() as first:
        with pools.pool() as second:
            pass
        with pools.pool() as third:
            assert (second, third) == ("sluicegate-1", "sluicegate-1")
    with pools.pool() as fourth:
        assert fourth == first == "sluicegate-0"
