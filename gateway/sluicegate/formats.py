"""Helpers for plugins that read tables: snapshots and changes as Arrow columns.

In addition to `sluicegate.api`, this is the only public module of the core. It imports pyarrow. Import
it only when the first table is read, not where the format is registered (docs/adr/0016).
"""

from __future__ import annotations

from sluicegate._util.ranged_file import RangedFile
from sluicegate.tables.changes import (
    CHANGE_SCHEMA,
    Changes,
    Commit,
    CommitFiles,
    TableState,
)
from sluicegate.tables.column_mapping import is_mapped
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.delta.parts import (
    LOG_ACTIONS,
    DeltaVersion,
    LogPart,
    check_added_files,
    latest_delta_version,
    read_log_part,
)
from sluicegate.tables.derived_files import DERIVED, DerivedFile
from sluicegate.tables.file_paths import plain_paths
from sluicegate.tables.parquet.batches import check_parquet_footer, parquet_batches
from sluicegate.tables.partitions import without_partitions
from sluicegate.tables.predicates.values import is_saturated
from sluicegate.tables.refs import no_such_ref
from sluicegate.tables.snapshot import (
    DELETION_VECTOR,
    FILE_SCHEMA,
    PLAIN_SCHEMA,
    FileChunk,
    FileSet,
    Snapshot,
    TableMetadata,
    TableProtocol,
)
from sluicegate.tables.versions import DescribedVersion

__all__ = [
    "CHANGE_SCHEMA",
    "DELETION_VECTOR",
    "DERIVED",
    "FILE_SCHEMA",
    "LOG_ACTIONS",
    "PLAIN_SCHEMA",
    "Changes",
    "Commit",
    "CommitFiles",
    "DeltaFormat",
    "DeltaVersion",
    "DerivedFile",
    "DescribedVersion",
    "FileChunk",
    "FileSet",
    "IcebergDeclaration",
    "LogPart",
    "RangedFile",
    "Snapshot",
    "TableMetadata",
    "TableProtocol",
    "TableState",
    "check_added_files",
    "check_parquet_footer",
    "is_mapped",
    "is_saturated",
    "latest_delta_version",
    "no_such_ref",
    "parquet_batches",
    "plain_paths",
    "read_log_part",
    "without_partitions",
]
