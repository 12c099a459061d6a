"""What is heavy to load is made when it is first needed, so that a gateway at rest is light."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Late(Generic[T]):
    """One value, made in a worker thread when it is first asked for: the event loop never waits.

    Whoever stops waiting for it, because of a timeout for example, does not wait for the thread.

    Args:
        make: Called once; where it raises, who asks next calls it again.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making: asyncio.Task[T] | None = None

    @property
    def made(self) -> T | None:
        """The value, if it has been made."""
        making = self._making
        return making.result() if making is not None and _has_succeeded(making) else None

    async def get(self) -> T:
        """The value; raises what making it raises."""
        making = self._making
        if making is None or (making.done() and not _has_succeeded(making)):
            making = self._making = asyncio.create_task(self._made_in_thread())
            making.add_done_callback(_has_succeeded)  # sees its error, if nobody waits any more
        return making.result() if making.done() else await asyncio.shield(making)

    async def _made_in_thread(self) -> T:
        return await anyio.to_thread.run_sync(self._make)


def _has_succeeded(task: asyncio.Task[T]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


class LateMapping(Mapping[str, T]):
    """Values by name, each made when it is first looked up."""

    def __init__(self, makers: Mapping[str, Callable[[], T]]) -> None:
        self._makers = makers
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
