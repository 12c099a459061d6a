"""What is heavy to load is made when it is first needed, so that a gateway at rest is light."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Late(Generic[T]):
    """One value, made in a worker thread when it is first asked for: the event loop never waits.

    Args:
        make: Called once; where it raises, who asks next calls it again.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making = asyncio.Lock()
        self._made: T | None = None

    @property
    def made(self) -> T | None:
        """The value, if anybody has asked for it yet."""
        return self._made

    async def get(self) -> T:
        """The value; raises what making it raises."""
        if self._made is None:
            async with self._making:
                if self._made is None:
                    self._made = await anyio.to_thread.run_sync(self._make)
        return self._made


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
