"""The interface of sinks with a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sluicegate.audit.own_records import LogEntry


class Sink(Protocol):
    """Where a chain is stored."""

    @property
    def name(self) -> str:
        """Its name, for logs and metrics."""

    async def append(self, entries: Sequence[LogEntry]) -> None:
        """Add records to the chain, and return when they are durable. All are stored, or none.

        If the sink does not respond in time, records can be stored although this raises.
        """

    async def delete_before(self, oldest: int) -> None:
        """Delete records that were made before `oldest`, epoch milliseconds."""

    async def seal_others(self) -> None:
        """Record where other chains end, if the sink knows any."""

    async def index_records(self) -> bool:
        """Index some records, if the sink has an index, and return whether more can be indexed now."""

    async def aclose(self) -> None:
        """Release files and locks."""
