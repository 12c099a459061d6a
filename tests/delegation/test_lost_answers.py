"""A connection that breaks behind a commit: it is stored, but nobody is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection
from support.servers.delegation import Desk, FolderPurge, RunningClock, make_table, payload

from sluicegate.api.errors import Unavailable
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store

# What a worker commits about the only task, in this order.
LEASED, STARTED, STAGE_FINISHED, ENDED = COMMITS = range(1, 5)
RAN = ["ACQUIRING_RESOURCES", "RUNNING", "SUCCESS"]


class Breaking(Store):
    """A store whose connection breaks behind a commit."""

    broken_behind = 0
    commits = 0

    @asynccontextmanager
    async def append(self) -> AsyncIterator[AsyncConnection]:
        async with super().append() as connection:
            yield connection
        self.commits += 1
        if self.commits == self.broken_behind:
            raise Unavailable("the connection broke")


@pytest.mark.parametrize("commit", COMMITS)
async def test_a_commit_without_an_answer_counts_once(
    database_url: str, clock: RunningClock, tmp_path: Path, commit: int
) -> None:
    make_table(tmp_path, "T1", 2)
    store = await Breaking.open(database_url)
    assert isinstance(store, Breaking)
    desk = Desk(store, DelegationSettings.model_validate({"worker": {"poll_interval": 1}}), clock)
    purge = FolderPurge(tmp_path)
    try:
        task = await desk.queue.submit(payload(), "polaris")
        store.commits, store.broken_behind = 0, commit
        async with desk.working(purge):
            ended = await desk.ended(task.id)
        states = await desk.statuses(task.id)
    finally:
        await store.aclose()
    # A lease that its worker does not know of is given back by it, and costs no attempt.
    given_back = ["ACQUIRING_RESOURCES", "RETRY_SCHEDULED"] if commit == LEASED else []
    assert states == ["SUBMITTED", *given_back, *RAN]
    assert (ended.attempt_count, ended.stages, purge.attempts) == (1, ("content",), [1])
