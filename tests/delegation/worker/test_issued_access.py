"""An executor reads the ledger of its worker's database, across the threads between them."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from support.servers.delegation import Desk, payload

from sluicegate.api import DelegatedTask, IssuedAccess, TaskExecutor, TaskResult, TaskRun
from sluicegate.vending import Ledger
from sluicegate.vending.entries import LedgerEntry


class Reading(TaskExecutor):
    """Reads the ledger in pages of two entries."""

    def __init__(self) -> None:
        self.found: list[IssuedAccess] = []

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Read from the second entry on."""
        after = None
        while page := await run.issued_access(1, after, 2):
            self.found += page
            after = page[-1].given_at, page[-1].id
        return TaskResult("read")


def entry(number: int) -> LedgerEntry:
    return LedgerEntry(
        id=f"e{number}",
        given_at=number,
        issued_at=number,
        expires_at=None,
        kind="urls",
        cloud=None,
        binding=None,
        recipient_id="r1",
        recipient="acme",
        share="sales",
        schema="eu",
        table="orders",
        table_id="t1",
        locations=("s3://lake/orders",),
        files=number,
        address="192.0.2.7",
        request_id=None,
    )


async def test_an_executor_reads_the_ledger_in_pages(desk: Desk) -> None:
    ledger = Ledger(desk.store, retention=3600)
    for number in range(6):
        await ledger.write(entry(number))
    executor = Reading()
    task = await desk.queue.submit(payload(), "polaris")
    async with desk.working(executor):
        ended = await desk.ended(task.id)
    assert ended.status == "SUCCESS"
    names = [each.name for each in fields(IssuedAccess)]
    expected = [{name: asdict(entry(number))[name] for name in names} for number in range(1, 6)]
    assert [asdict(each) for each in executor.found] == expected
