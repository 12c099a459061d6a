"""Failures of tables are remembered in proportion to their cost; budgets say what was exceeded."""

from __future__ import annotations

import pytest

from sluicegate.api.budget import Budget, TableLimits, TableTooLarge
from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.reading.failures import Failures

TOO_LARGE = r"^it is too large$"


class Table:
    """Fails, and counts how often it was read; it has its own time."""

    def __init__(self, takes: float) -> None:
        self.reads = 0
        self.now = 100.0
        self._takes = takes

    def clock(self) -> float:
        return self.now

    async def read(self) -> None:
        self.reads += 1
        self.now += self._takes
        raise TableTooLarge("it is too large", detail="private")


async def test_a_failure_that_cost_something_is_remembered() -> None:
    table = Table(takes=0.5)
    failures = Failures(table.clock)
    with pytest.raises(TableTooLarge, match=TOO_LARGE):
        await failures.run("t", table.read)
    with pytest.raises(TableTooLarge, match=r"it is too large \(cached; .* in \d s\)") as again:
        await failures.run("t", table.read)
    assert again.value.detail == "private"
    assert table.reads == 1
    table.now += 6
    with pytest.raises(TableTooLarge, match=TOO_LARGE):
        await failures.run("t", table.read)


async def test_another_table_is_read_all_the_same() -> None:
    table = Table(takes=0.5)
    failures = Failures(table.clock)
    for key in ("t", "u"):
        with pytest.raises(TableTooLarge, match=TOO_LARGE):
            await failures.run(key, table.read)
    assert table.reads == 2


async def test_a_failure_that_cost_nothing_is_tried_again() -> None:
    table = Table(takes=0)
    failures = Failures(table.clock)
    for _ in range(2):
        with pytest.raises(TableTooLarge, match=TOO_LARGE):
            await failures.run("t", table.read)
    assert table.reads == 2


@pytest.mark.parametrize(
    ("limits", "taken", "setting"),
    [
        (TableLimits(bytes=10), {"bytes": 11}, "limits.table.bytes"),
        (TableLimits(rows=10), {"rows": 11}, "limits.table.rows"),
        (TableLimits(seconds=0), {"rows": 0}, "limits.table.time"),
    ],
)
def test_a_budget_says_which_limit_was_exceeded_and_where(
    limits: TableLimits, taken: dict[str, int], setting: str
) -> None:
    with pytest.raises(TableUnreadable, match=rf"at the file: .* can raise {setting}"):
        Budget(limits).take("the file", **taken)


def test_a_budget_adds_up() -> None:
    budget = Budget(TableLimits(bytes=10))
    budget.take("the file", bytes=6)
    budget.take("another", bytes=4)
    with pytest.raises(TableTooLarge):
        budget.take("a third one", bytes=1)
