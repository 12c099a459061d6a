"""Versions of a table without their files, for clients that choose among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from sluicegate.tables.snapshot import Snapshot, TableMetadata, TableProtocol


@dataclass(frozen=True, slots=True)
class DescribedVersion:
    """A version that can be read.

    Attributes:
        timestamp: When it was committed, epoch milliseconds.
        deletion_vectors: Whether its files can have deletion vectors. True if this is unknown.
    """

    version: int
    timestamp: int
    protocol: TableProtocol
    metadata: TableMetadata
    deletion_vectors: bool

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """The version of a snapshot."""
        return cls(
            snapshot.version,
            snapshot.timestamp,
            snapshot.protocol,
            snapshot.metadata,
            snapshot.files.deletion_vectors,
        )
