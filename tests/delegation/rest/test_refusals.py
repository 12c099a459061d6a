"""A database that refuses a value is not away: it is not waited for."""

from __future__ import annotations

from typing import Any, cast

import pytest
from support.servers.delegation import PURGE, Desk, FolderPurge, payload

from sluicegate.api import TaskProgress, TaskResult
from sluicegate.database import StatementRefused
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.records import TaskRecord

NO_JSON = cast("Any", object())


class Careless(Leases):
    """Stores a result that no database takes, as an unchecked one would be."""

    async def succeed(
        self, task: TaskRecord, result: TaskResult, progress: TaskProgress | None = None
    ) -> TaskRecord:
        """Add what is no JSON."""
        return await super().succeed(task, TaskResult(result.summary, further={"a": NO_JSON}), progress)


@pytest.mark.parametrize(
    "values", [{"further": {"a": NO_JSON}}, {"summary": NO_JSON}], ids=["no JSON", "no text"]
)
async def test_a_refused_value_is_not_a_database_that_is_away(desk: Desk, values: Any) -> None:
    await desk.queue.submit(payload(), "polaris")
    leased = await desk.leases.acquire("w", [PURGE])
    assert leased is not None
    started = await desk.leases.start(leased)
    with pytest.raises(StatementRefused, match="the gateway's database refuses a value"):
        await desk.leases.succeed(started, TaskResult(**({"summary": "done"} | values)))


async def test_an_end_that_the_database_refuses_is_a_failure(desk: Desk, tmp_path: Any) -> None:
    desk.leases = Careless(desk.store, desk.settings, now=desk.clock.now)
    task = await desk.queue.submit(payload(), "polaris")
    async with desk.working(FolderPurge(tmp_path)):
        ended = await desk.ended(task.id)
    assert (ended.status, ended.error_code, ended.version) == ("FAILURE", "INVALID_RESULT", 4)
