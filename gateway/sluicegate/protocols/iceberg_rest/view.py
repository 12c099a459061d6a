"""A table at one version as one recipient's Iceberg client sees it, file by file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.tables.iceberg.shape import IcebergShape
from sluicegate.tables.snapshot import FileSet, Snapshot
from sluicegate.tables.snapshot_index.failures import IndexUnsuitable

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.files import IndexedFiles
    from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot


class ViewPaths(Protocol):
    """Turns paths of a view's files into the `s3://` paths that clients see and request."""

    def of(self, paths: Sequence[str]) -> list[str]:
        """Paths of files, in their order."""


@dataclass(frozen=True, slots=True)
class TableView:
    """What plans and metadata are made of. The files can be in an index."""

    table: OpenTable
    snapshot: Snapshot | IndexedSnapshot
    files: FileSet | IndexedFiles
    shape: IcebergShape
    paths: ViewPaths

    @property
    def indexed(self) -> bool:
        """Whether the files are in an index."""
        return not isinstance(self.snapshot, Snapshot)

    def head(self) -> Snapshot:
        """The snapshot for what needs only its version and metadata. It can be without files."""
        snapshot = self.snapshot
        return snapshot if isinstance(snapshot, Snapshot) else snapshot.without_files()

    def in_memory(self) -> IcebergView:
        """The view, if all of its files are in memory."""
        raise IndexUnsuitable("all files of the table are needed")


@dataclass(frozen=True, slots=True)
class IcebergView(TableView):
    """A view whose files are in memory, as manifests and other generated files need them."""

    snapshot: Snapshot
    files: FileSet

    def in_memory(self) -> IcebergView:
        """The view itself."""
        return self


def snapshot_id(version: int) -> int:
    """The Iceberg snapshot id of a version. Ids are positive, versions start at 0."""
    return version + 1


def version_of(snapshot: int) -> int:
    """The version of an Iceberg snapshot id."""
    return snapshot - 1
