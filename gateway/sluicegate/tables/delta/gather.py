"""Limited concurrency."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, cast

import anyio

from sluicegate.api.errors import SluicegateError

_T = TypeVar("_T")


async def gather(jobs: Sequence[Callable[[], Awaitable[_T]]], limit: int) -> list[_T]:
    """Run jobs, at most `limit` concurrently, and return their results in the order of the jobs.

    The first domain error cancels the running jobs and is raised unchanged.
    """
    results: list[_T | None] = [None] * len(jobs)
    failures: list[SluicegateError] = []
    pending = iter(enumerate(jobs))

    async def work() -> None:
        for index, job in pending:
            try:
                results[index] = await job()
            except SluicegateError as error:
                failures.append(error)
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(min(limit, len(jobs))):
            group.start_soon(work)
    if failures:
        raise failures[0]
    return cast("list[_T]", results)
