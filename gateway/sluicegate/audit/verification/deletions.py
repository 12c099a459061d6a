"""Compares what the records of deletions say with the retention."""

from __future__ import annotations

from sluicegate._util.clock import iso_utc
from sluicegate.audit.records import AuditRecord
from sluicegate.audit.verification.findings import ChainFinding

# The deletion is recorded shortly after the time of its oldest kept record was computed.
_DELAY = 60_000


class DeletionCheck:
    """Takes the records of deletions in their order."""

    def __init__(self, retention: int | None) -> None:
        self._retention = retention
        self._shorter: list[int] = []
        self.finding: ChainFinding | None = None

    def take(self, seq: int, record: AuditRecord) -> None:
        """Take a record. Those of earlier versions do not contain times."""
        last_at, before = record.issued.get("last_at"), record.issued.get("before")
        if not isinstance(last_at, int) or not isinstance(before, int):
            return  # deleted because of the number of files
        if last_at >= before:
            text = (
                f"record {seq} says that records up to {iso_utc(last_at)} were deleted at "
                f"{iso_utc(record.at)}, although those from {iso_utc(before)} on had to stay"
            )
            self.finding = self.finding or ChainFinding("deleted", seq, text)
        elif self._retention is not None and record.at - before < self._retention * 1000 - _DELAY:
            self._shorter.append(seq)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to compare with the history of the configuration."""
        if not self._shorter:
            return ()
        return (
            f"{len(self._shorter)} deletions, the first one in record {self._shorter[0]}, deleted "
            "records that audit.retention keeps now; check whether it was shorter at that time",
        )
