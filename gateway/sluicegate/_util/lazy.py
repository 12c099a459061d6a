"""Values that are created when they are first needed, so that an idle gateway uses little memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is created in a worker thread when it is first needed. The event loop never waits.

    A caller that is cancelled, because of a timeout for example, does not wait for the thread.

    Args:
        make: Creates the value. It is called once, and again only after it has raised an error.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making: asyncio.Task[T] | None = None

    @property
    def made(self) -> T | None:
        """The value, or `None` if it has not been created yet."""
        making = self._making
        return making.result() if making is not None and _has_succeeded(making) else None

    async def get(self) -> T:
        """Return the value. Raises the errors of `make`."""
        making = self._making
        if making is None or (making.done() and not _has_succeeded(making)):
            making = self._making = asyncio.create_task(self._made_in_thread())
            making.add_done_callback(_has_succeeded)  # retrieves its error, if nothing waits for it
        return making.result() if making.done() else await asyncio.shield(making)

    async def _made_in_thread(self) -> T:
        return await anyio.to_thread.run_sync(self._make)


def _has_succeeded(task: asyncio.Task[T]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


class LateMapping(Mapping[str, T]):
    """A mapping whose values are created when they are first looked up."""

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
