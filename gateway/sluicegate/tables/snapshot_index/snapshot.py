"""A table at one version, with its files in an index."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from sluicegate.tables.delta.log import DeltaState, LaterVersion
from sluicegate.tables.delta.log_files.commits import damaged
from sluicegate.tables.delta.replay import reconcile
from sluicegate.tables.snapshot import FileSet, Snapshot, TableMetadata, TableProtocol
from sluicegate.tables.snapshot_index.files import IndexedFiles
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.versions import DescribedVersion


@dataclass(frozen=True, slots=True, weakref_slot=True)
class IndexedSnapshot:
    """Like `Snapshot`, but of the files only the totals are in memory."""

    version: int
    timestamp: int
    protocol: TableProtocol
    metadata: TableMetadata
    files: IndexedFiles
    state: DeltaState = field(repr=False)

    @classmethod
    def of(cls, index: SnapshotIndex) -> Self:
        """The version that was indexed."""
        manifest = index.manifest
        return cls(
            manifest.version,
            manifest.timestamp,
            manifest.protocol,
            manifest.metadata,
            IndexedFiles.of(index),
            DeltaState(manifest.newest),
        )

    def after(self, later: LaterVersion) -> Self:
        """The snapshot of a later version. Blocks."""
        with damaged("the Delta log"):
            files = self.files.after(reconcile(later.commits))
        return replace(
            self,
            version=later.version,
            timestamp=later.timestamp,
            protocol=later.protocol,
            metadata=later.metadata,
            files=files,
            state=later.state,
        )

    def without_files(self) -> Snapshot:
        """A snapshot for what reads only the version and the metadata of a Delta table."""
        no_files = FileSet.of(())
        return Snapshot(
            self.version, self.timestamp, self.protocol, self.metadata, no_files, self.state
        )

    def described(self) -> DescribedVersion:
        """The version without its files."""
        vectors = self.files.deletion_vectors
        return DescribedVersion(self.version, self.timestamp, self.protocol, self.metadata, vectors)

    @property
    def nbytes(self) -> int:
        """Bytes of memory of the summary, the partitions, and the changes since."""
        overlay = self.files.overlay
        return self.files.index.nbytes + overlay.added.nbytes + int(overlay.keys.nbytes)
