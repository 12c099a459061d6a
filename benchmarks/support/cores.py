"""Limits this process, and all that it has started, to one core, which they then share; Linux only."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

import psutil


@contextmanager
def on_one_core() -> Iterator[None]:
    """Run everything on one core until the block ends."""
    cores = os.sched_getaffinity(0)
    _limit({min(cores)})
    try:
        yield
    finally:
        _limit(cores)


def _limit(cores: Collection[int]) -> None:
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            for thread in process.threads():
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(thread.id, cores)
