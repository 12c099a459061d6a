"""Worker threads for work that clients can make large: how many there are, and when they are used."""

from __future__ import annotations

import threading

import anyio
import pytest

from sluicegate._util.limited_threads import LARGE, LimitedThreads


async def test_large_inputs_are_read_in_a_thread() -> None:
    threads = LimitedThreads(1)
    here = threading.get_ident()
    assert await threads.run_sized(LARGE, threading.get_ident) == here
    assert await threads.run_sized(LARGE + 1, threading.get_ident) != here
    assert await threads.run(threading.get_ident) != here


@pytest.mark.parametrize("size", [1, LARGE + 1])
async def test_arguments_and_errors_are_handed_on(size: int) -> None:
    threads = LimitedThreads(1)
    assert await threads.run_sized(size, divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await threads.run_sized(size, divmod, 7, 0)


async def test_a_few_run_at_a_time() -> None:
    threads, running, most = LimitedThreads(2), 0, 0
    lock, both = threading.Lock(), threading.Barrier(2)

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait(30)  # two at a time, no fewer
        with lock:
            running -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(threads.run, work)
    assert most == 2
