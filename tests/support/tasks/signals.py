"""An event that executors, which run on a thread of their worker, share with tests."""

from __future__ import annotations

import threading

import anyio

_LOOK_SECONDS = 0.01


class Signal:
    """An event for any event loop and thread, unlike anyio's, which belongs to one."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Let everybody go on."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._event.is_set()

    async def wait(self) -> None:
        """Wait until it is set."""
        while not self._event.is_set():  # noqa: ASYNC110 (an event of anyio belongs to one loop)
            await anyio.sleep(_LOOK_SECONDS)

    def block(self) -> None:
        """Wait until it is set, and let nothing else on this thread go on meanwhile."""
        self._event.wait()
