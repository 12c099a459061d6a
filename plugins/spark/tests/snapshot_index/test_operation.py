"""Which indexes BUILD_SNAPSHOT_INDEX builds, and what its task decides: the name of the table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sluicegate.api import (
    DelegatedTask,
    NotFound,
    RealmGrant,
    SluicegateError,
    SnapshotIndexBuild,
    TableIdentity,
    TaskFailed,
    TaskResult,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_spark import executor
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.snapshot_index import BUILD_SNAPSHOT_INDEX
from sluicegate_testing.executors import RecordedRun
from sluicegate_testing.fakes import FakeContext

GRANT = RealmGrant(catalogs=frozenset({"lake"}), locations=("s3://lake/",))


class Indexes:
    """Records what is built. All tables are in a directory."""

    def __init__(
        self, built: SnapshotIndexBuild | None, failure: SluicegateError | None = None
    ) -> None:
        self.built = built
        self.tables: list[tuple[str, str]] = []
        self._failure = failure

    async def build(
        self,
        catalog: str,
        table: str,
        *,
        check_location: Callable[[str], None],
        before_publication: Callable[[], Awaitable[None]],
    ) -> SnapshotIndexBuild | None:
        """Publish nothing, but as a real build does."""
        if self._failure is not None:
            raise self._failure
        check_location(f"s3://lake/sales/{table}")
        await before_publication()
        self.tables.append((catalog, table))
        return self.built


def task(catalog: str = "lake", grant: RealmGrant = GRANT, **given: Any) -> DelegatedTask:
    identity = TableIdentity("7", catalog, ("sales", "eu"), "orders")
    return DelegatedTask("t", BUILD_SNAPSHOT_INDEX, "prod", identity, grant=grant, **given)


@pytest.fixture(autouse=True)
def without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark does not start, so it does not need to be installed."""
    monkeypatch.setattr(executor, "require", lambda _: None)


async def run(indexes: Indexes | None, task: DelegatedTask, *, is_lost: bool = False) -> TaskResult:
    config = SparkConfig.model_validate({"index_catalogs": ["lake"]})
    assert "lake" in config.catalog_names
    tested = SparkExecutor.configured(config, FakeContext(snapshot_indexes=indexes))
    try:
        assert await tested.acquire(task) is None
        return await tested.run(task, None, RecordedRun(lost_after=0 if is_lost else None))
    finally:
        await tested.aclose()


@pytest.mark.parametrize(
    ("built", "summary"),
    [
        (
            SnapshotIndexBuild(7, 5_000_000, 306, 12),
            "version 7 was indexed: 12 of 306 parts were written",
        ),
        (
            SnapshotIndexBuild(7, 5_000_000, 306, 306, "there was no index"),
            "version 7 was indexed: 306 of 306 parts were written, because there was no index",
        ),
        (None, "the table has fewer files than index.min_files, so it needs no index"),
    ],
)
async def test_the_result_says_what_was_built(built: SnapshotIndexBuild | None, summary: str) -> None:
    indexes = Indexes(built)
    result = await run(indexes, task(config={"s3.access-key-id": "of-the-payload"}))
    assert result.summary == summary
    assert indexes.tables == [("lake", "sales.eu.orders")]
    assert result.further.get("files") == (None if built is None else 5_000_000)


@pytest.mark.parametrize(
    ("wrong", "code", "message"),
    [
        (task("other"), "INVALID_PAYLOAD", "'index_catalogs' of the executor does not name 'other'"),
        (task(properties={"location": "s3://x/y"}), "INVALID_PAYLOAD", "has no properties"),
        (task(grant=RealmGrant(None, frozenset(), None)), "NOT_GRANTED", "the catalog 'lake'"),
        (task(grant=RealmGrant(None, None, ("s3://own/",))), "NOT_GRANTED", "the location 's3://lake"),
    ],
)
async def test_a_task_cannot_choose_more(wrong: DelegatedTask, code: str, message: str) -> None:
    indexes = Indexes(SnapshotIndexBuild(7, 1, 1, 1))
    with pytest.raises(TaskFailed, match=message) as failed:
        await run(indexes, wrong)
    assert failed.value.error_code == code
    assert indexes.tables == []


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (NotFound("there is no such table"), TaskFailed),
        (UnsupportedOperation("only Delta tables can be indexed"), TaskFailed),
        # The service retries it.
        (Unavailable("the store does not respond"), Unavailable),
    ],
)
async def test_the_reason_of_a_failure_is_kept(
    failure: SluicegateError, raised: type[SluicegateError]
) -> None:
    with pytest.raises(raised, match=failure.message) as failed:
        await run(Indexes(None, failure), task())
    assert getattr(failed.value, "error_code", None) in (None, "INVALID_PAYLOAD")


async def test_an_attempt_that_lost_its_lease_publishes_nothing() -> None:
    indexes = Indexes(SnapshotIndexBuild(7, 1, 1, 1))
    with pytest.raises(TaskFailed, match="the lease was lost"):
        await run(indexes, task(), is_lost=True)
    assert indexes.tables == []


async def test_a_folder_is_needed() -> None:
    with pytest.raises(TaskFailed, match=r"'index\.location' of the gateway is not configured"):
        await run(None, task())
