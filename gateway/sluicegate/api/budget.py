"""Limits for reading a table: bytes, rows, and time, counted by the code that decodes its files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple, Unpack

from sluicegate.api.errors import TableUnreadable

if TYPE_CHECKING:
    import anyio

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")

_SETTING = "limits.table"
_LARGE = 32_000_000  # bytes; only a few larger reads run concurrently
_LARGE_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class TableLimits:
    """Limits of one read of a table; `None` means no limit.

    Attributes:
        bytes: Decompressed bytes of its metadata (logs, checkpoints, manifests).
        rows: Entries in its metadata, live or not.
        seconds: Time from the first request to the last decoded row.
    """

    bytes: int | None = None
    rows: int | None = None
    seconds: float | None = None


class TableTooLarge(TableUnreadable):
    """Reading the table exceeds a configured limit."""


class _TurnNeeded(Exception):
    """Code in a thread is decoding more data than expected, and must wait for its turn."""


class Turns:
    """Limits the number of concurrent large reads, and so their memory. Small reads never wait."""

    def __init__(self) -> None:
        import anyio

        self.free = anyio.CapacityLimiter(_LARGE_AT_ONCE)


class Budget:
    """Counts the resources that one read of a table uses. Thread-safe.

    If a size is known in advance (`Content-Length`, a Parquet footer, an Avro block), count it before
    you allocate the memory. Otherwise, count while the data grows. Call `admit` before you fetch large
    data. Functions that `run` calls wait for their turn automatically.

    Args:
        limits: The limits; without them, everything is allowed.
        turns: The turns of large reads in this process; without them, no read waits.
    """

    def __init__(self, limits: TableLimits | None = None, turns: Turns | None = None) -> None:
        import anyio  # late, so that importing the API stays fast

        self._limits = limits or TableLimits()
        self._turns = turns
        self._admitted = turns is None
        self._admission = anyio.Lock()
        self._restartable: set[int] = set()
        self._lock = threading.Lock()
        self._bytes = self._rows = 0
        self._began = time.monotonic()

    def take(self, what: str, *, bytes: int = 0, rows: int = 0) -> None:
        """Count data that was decoded or will be decoded next, and check the time limit.

        Args:
            what: Description of the file for users: "the Delta log's 00…0.json".
            bytes: Decoded bytes of the file, or of a part of it.
            rows: Entries in the file, or in a part of it.

        Raises:
            TableTooLarge: A limit is exceeded. The message names it.
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
        """Wait for a turn if this many further bytes make the read a large one.

        The turn lasts until `close`. The time limit does not include the waiting time.
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
        """Decode in a thread. If the read becomes large and must wait, decode again from the beginning.

        Args:
            decode: Counts the decoded data with `take`. Must have no effect if `take` raises an error.
            *arguments: Arguments of the function.
            limiter: Limits the threads.
        """
        import anyio.to_thread

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
        """Return an unused budget with the same limits, for a later part of the read. Close it, too."""
        return Budget(self._limits, self._turns)

    def close(self) -> None:
        """Give the turn to the next large read."""
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
