"""Protocol, properties, and commit headers of a converted table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

from sluicegate.api import TaskFailed, TaskResult
from sluicegate.formats import TableMetadata, TableProtocol
from sluicegate_spark.conversion.origin import MIRROR_FEATURE
from sluicegate_spark.conversion.to_delta.delta_log import (
    DELETION_VECTORS,
    commit_header,
    with_deletion_vectors,
    with_feature,
)

FILES: Final = "sluicegate.source.files"
"""Table property: the number of files in the converted table."""
MODE: Final = "delta.columnMapping.mode"
_LARGEST = 4 << 30  # bytes of an object that every store accepts in one request


@dataclass(frozen=True, slots=True)
class ConvertedTable:
    """The table after a conversion, without its files."""

    source_version: int
    protocol: TableProtocol
    metadata: TableMetadata
    before: TableProtocol | None

    @classmethod
    def marked(
        cls,
        shared: tuple[int, int, TableProtocol, TableMetadata],
        before: TableProtocol | None,
        recorded: Mapping[str, str],
        *,
        writable: bool,
    ) -> ConvertedTable:
        """Return a table with the properties and writer features of a converted table."""
        version, timestamp, protocol, metadata = shared
        metadata = replace(
            metadata, configuration={**metadata.configuration, **recorded}, created_time=timestamp
        )
        if before is not None and DELETION_VECTORS in (before.reader_features or ()):
            protocol = with_deletion_vectors(protocol)
        if not writable:
            protocol = with_feature(protocol, MIRROR_FEATURE)
        return cls(version, protocol, metadata, before)

    def header(self, now: int) -> bytes:
        """Return the lines of the commit that precede its files."""
        info = {
            "timestamp": now,
            "operation": "CONVERT",
            "operationParameters": {
                "source": "iceberg",
                "snapshotVersion": str(self.source_version),
            },
            "engineInfo": "Sluicegate",
            "txnId": str(uuid4()),
        }
        protocol = None if self.before == self.protocol else self.protocol
        return commit_header(info, protocol, self.metadata)


def check_commit_size(size: int, files: int) -> None:
    """Ensure that stores accept a commit."""
    if size > _LARGEST:
        raise TaskFailed(
            f"the table has too many files for one commit of a Delta log ({files}): compact the "
            "table first",
            error_code="INVALID_PAYLOAD",
        )


def converted(version: int, added: int, removed: int) -> TaskResult:
    """Return the result of a conversion that committed a version."""
    return TaskResult(
        f"the table was converted to version {version} of a Delta table with the same data files",
        further={"delta_version": version, "files_added": added, "files_removed": removed},
    )
