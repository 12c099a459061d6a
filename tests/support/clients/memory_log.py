"""An audit log in memory, which can wait or fail."""

from __future__ import annotations

import asyncio

from sluicegate.api.errors import Unavailable
from sluicegate.audit.records import AuditLog, AuditRecord


class MemoryLog(AuditLog):
    """Stores records in a list."""

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []
        self.fails = False
        self.waiting = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()

    def hold(self) -> None:
        """Let the next records wait until `release` is called."""
        self._open.clear()

    def release(self) -> None:
        """Store what waits."""
        self._open.set()

    async def write(self, record: AuditRecord) -> None:
        """Store a record."""
        if not self._open.is_set():
            self.waiting.set()
            await self._open.wait()
        if self.fails:
            raise Unavailable("the audit log cannot be written; try again later", detail="disk full")
        self.records.append(record)
