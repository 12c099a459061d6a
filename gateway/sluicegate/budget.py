"""What reading a table may cost: bytes, rows and time, counted by whatever decodes its files."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from sluicegate.errors import TableUnreadable

_SETTING = "limits.table"


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


class Budget:
    """Counts what one reading of a table takes; safe to use from many threads.

    Count before something is allocated wherever its size is known before (`Content-Length`, a
    Parquet footer, an Avro block), and while it grows where it is not.

    Args:
        limits: What it may take; without them everything is allowed.
    """

    def __init__(self, limits: TableLimits | None = None) -> None:
        self._limits = limits or TableLimits()
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
            self._bytes += bytes
            self._rows += rows
        limits = self._limits
        if limits.bytes is not None and self._bytes > limits.bytes:
            raise _exceeded(what, f"{limits.bytes} bytes of metadata", "bytes")
        if limits.rows is not None and self._rows > limits.rows:
            raise _exceeded(what, f"{limits.rows} entries of metadata", "rows")
        if limits.seconds is not None and time.monotonic() - self._began > limits.seconds:
            raise _exceeded(what, f"{limits.seconds:g} s", "time")


def _exceeded(what: str, limit: str, setting: str) -> TableTooLarge:
    return TableTooLarge(
        f"reading the table takes more than {limit}, which was exceeded at {what}: "
        f"the gateway's operator can raise {_SETTING}.{setting}"
    )
