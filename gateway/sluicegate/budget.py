"""What reading a table may cost: bytes, rows and time, counted by whatever decodes its files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, TypeVarTuple, Unpack

import anyio
import anyio.to_thread

from sluicegate.errors import TableUnreadable

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")

_SETTING = "limits.table"
_LARGE = 32_000_000  # bytes; readings of more wait for each other
_LARGE_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class TableLimits:
    """What one reading of a table may take at the most; `None` for any amount.

    Attributes:
        bytes: Of its metadata (logs, checkpoints, manifests), decoded: after decompression.
        rows: Entries of its metadata, live or not.
        seconds: From its first request to the last decoded row.
    """

    bytes: int | None = None
    rows: int | None = None
    seconds: float | None = None


class TableTooLarge(TableUnreadable):
    """Reading the table takes more than the configuration allows."""


class _TurnNeeded(Exception):
    """What is decoded in a thread turned out to be large."""


class Turns:
    """Lets few large readings run at once, so that they do not add up; small ones never wait."""

    def __init__(self) -> None:
        self.free = anyio.CapacityLimiter(_LARGE_AT_ONCE)


class Budget:
    """Counts what one reading of a table takes; safe to use from many threads.

    Count before something is allocated wherever its size is known before (`Content-Length`, a
    Parquet footer, an Avro block), and while it grows where it is not. Before something large is
    fetched, `admit` it; what is decoded in a thread by `run` waits for its turn by itself.

    Args:
        limits: What it may take; without them everything is allowed.
        turns: Of large readings in this process; without them none waits.
    """

    def __init__(self, limits: TableLimits | None = None, turns: Turns | None = None) -> None:
        self._limits = limits or TableLimits()
        self._turns = turns
        self._admitted = turns is None
        self._admission = anyio.Lock()
        self._restartable: set[int] = set()
        self._lock = threading.Lock()
        self._bytes = self._rows = 0
        self._began = time.monotonic()

    @property
    def bytes_left(self) -> int | None:
        """How many bytes may still be decoded; `None` for any number."""
        return None if self._limits.bytes is None else max(0, self._limits.bytes - self._bytes)

    def take(self, what: str, *, bytes: int = 0, rows: int = 0) -> None:
        """Count what was decoded, or is about to be, and look at the clock.

        Args:
            what: Which file, in words for users: "the Delta log's 00…0.json".
            bytes: Its decoded bytes, or those of a part of it.
            rows: Entries in it, or in a part of it.

        Raises:
            TableTooLarge: It exceeds a limit; the message says which one.
        """
        with self._lock:
            if self._is_large(bytes) and threading.get_ident() in self._restartable:
                raise _TurnNeeded
            self._bytes += bytes
            self._rows += rows
        limits = self._limits
        if limits.bytes is not None and self._bytes > limits.bytes:
            raise _exceeded(what, f"{limits.bytes} bytes of metadata", "bytes")
        if limits.rows is not None and self._rows > limits.rows:
            raise _exceeded(what, f"{limits.rows} entries of metadata", "rows")
        if limits.seconds is not None and time.monotonic() - self._began > limits.seconds:
            raise _exceeded(what, f"{limits.seconds:g} s", "time")

    async def admit(self, bytes: int) -> None:
        """Wait for a turn if the reading becomes a large one by so many bytes more.

        The turn lasts until `close`; the time limit does not count the waiting.
        """
        async with self._admission:
            if not self._is_large(bytes) or self._turns is None:
                return
            began = time.monotonic()
            await self._turns.free.acquire_on_behalf_of(self)
            self._admitted = True
            self._began += time.monotonic() - began

    async def run(
        self,
        decode: Callable[[Unpack[_Arguments]], _T],
        *arguments: *_Arguments,
        limiter: anyio.CapacityLimiter | None = None,
    ) -> _T:
        """Decode in a thread, once more from its beginning where it is large and has to wait.

        Args:
            decode: Counts what it decodes with `take`; leaves nothing behind where that raises.
            *arguments: Of the function.
            limiter: Of the threads.
        """

        def restartable() -> _T:
            thread = threading.get_ident()
            self._restartable.add(thread)
            try:
                return decode(*arguments)
            finally:
                self._restartable.discard(thread)

        try:
            return await anyio.to_thread.run_sync(restartable, limiter=limiter)
        except _TurnNeeded:
            await self.admit(_LARGE)
            return await anyio.to_thread.run_sync(decode, *arguments, limiter=limiter)

    def renewed(self) -> Budget:
        """A budget of the same limits of which nothing was taken yet, for a later part to be closed."""
        return Budget(self._limits, self._turns)

    def close(self) -> None:
        """Let the next large reading have its turn."""
        if self._turns is not None and self._admitted:
            self._turns.free.release_on_behalf_of(self)
            self._admitted = False

    def _is_large(self, more: int) -> bool:
        return not self._admitted and self._bytes + more > _LARGE


def _exceeded(what: str, limit: str, setting: str) -> TableTooLarge:
    return TableTooLarge(
        f"reading the table takes more than {limit}, which was exceeded at {what}: "
        f"the gateway's operator can raise {_SETTING}.{setting}"
    )
