"""Runs functions whose duration depends on what a client sends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread

T = TypeVar("T")

LARGE = 16_384
"""Bytes that take one or two milliseconds to parse. Threads take a tenth of that to start."""


async def run_sized(size: int, function: Callable[..., T], *arguments: Any) -> T:
    """The result of a function, which runs in a worker thread if its input is large.

    Args:
        size: Bytes of the input.
        function: What it raises is raised.
        arguments: Its positional arguments.
    """
    if size > LARGE:
        return await anyio.to_thread.run_sync(partial(function, *arguments))
    return function(*arguments)
