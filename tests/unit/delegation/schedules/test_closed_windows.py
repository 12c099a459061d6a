"""The task that ends unstarted tasks survives an outage of the database."""

from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest

from sluicegate.api.errors import Unavailable
from sluicegate.delegation.schedules.closed_windows import ClosedWindows


async def test_it_continues_after_the_database_was_unavailable(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes: Iterator[Unavailable | int] = iter([Unavailable("the database is down"), 2])
    done = anyio.Event()
    windows = ClosedWindows(None)  # type: ignore[arg-type]

    async def end() -> int:
        outcome = next(outcomes, None)
        if isinstance(outcome, Unavailable):
            raise outcome
        if outcome is None:
            done.set()
            await anyio.sleep_forever()
            raise AssertionError
        return outcome

    monkeypatch.setattr(windows, "end", end)
    monkeypatch.setattr("sluicegate.delegation.schedules.closed_windows._INTERVAL", 0)
    async with anyio.create_task_group() as group:
        group.start_soon(windows.run)
        await done.wait()
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert "the database is down" in caplog.text
    assert "2 tasks were not started in their window" in caplog.text
