"""Writes records to all configured sinks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from sluicegate.audit.encoding import encode
from sluicegate.audit.own_records import LogEntry
from sluicegate.audit.records import AuditRecord
from sluicegate.audit.writers.best_effort import BestEffortWriter
from sluicegate.audit.writers.required import RequiredWriter


class NoAuditLog:
    """The log of a gateway that records nothing."""

    async def write(self, record: AuditRecord) -> None:
        """Do nothing."""


class SinkAuditLog:
    """Writes each record to the writers of all sinks.

    Args:
        required: Writers whose entries must be durable before `write` returns.
        publish: Is called with each record that is durable in all required sinks.
    """

    def __init__(
        self,
        required: Sequence[RequiredWriter],
        best_effort: Sequence[BestEffortWriter],
        publish: Callable[[AuditRecord], None] | None = None,
    ) -> None:
        self._required = required
        self._best_effort = best_effort
        self._publish = publish

    async def write(self, record: AuditRecord) -> None:
        """Store a record, and return when it is durable in all required sinks."""
        entry = LogEntry(encode(record), record.at)
        for unawaited in self._best_effort:
            unawaited.submit(entry)
        for writer in self._required:
            if not writer.has_space:
                await writer.wait_for_space()
        if len(self._required) == 1:
            await self._required[0].submit(entry)
        else:
            await _all_done([writer.submit(entry) for writer in self._required])
        if self._publish is not None:
            self._publish(record)


async def _all_done(submitted: Sequence[asyncio.Future[None]]) -> None:
    try:
        for done in submitted:
            await done
    finally:
        for done in submitted:
            # Without this, asyncio logs the exceptions of those that no request waits for.
            if not done.cancel() and not done.cancelled():
                done.exception()
