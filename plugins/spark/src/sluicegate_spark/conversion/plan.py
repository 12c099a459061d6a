"""What an Iceberg table has to say so that its readers see a Delta table's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.api import TaskFailed, UnsupportedOperation
from sluicegate.formats import Snapshot
from sluicegate_spark.conversion.columns import Column, Columns, columns_of, places_in
from sluicegate_spark.conversion.live_files import LiveFiles
from sluicegate_spark.conversion.manifests import Layout
from sluicegate_spark.conversion.mirror import READ_ONLY

NAME_MAPPING: Final = "schema.name-mapping.default"
_MAPPED: Final = "sluicegate.source.column-mapping"
_MODE = "delta.columnMapping.mode"
_HIGHEST = "delta.columnMapping.maxColumnId"
# What they mean for data files and rows is known here.
_READER_FEATURES = frozenset(
    ("columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck")
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The Iceberg table to be.

    Attributes:
        columns: Its schema.
        files: Its data files.
        properties: Of the table.
    """

    columns: Columns
    files: LiveFiles
    properties: Mapping[str, str]

    def layout(self, schema_id: int) -> Layout:
        """Of its manifests."""
        return Layout({**self.columns.schema, "schema-id": schema_id}, self.files.partition)


def plan_of(delta: Snapshot, location: str, shown: Mapping[str, Any] | None) -> Plan:
    """Translate a Delta table.

    Args:
        delta: The table.
        location: Its directory.
        shown: Metadata of the Iceberg table, if it was converted before: it keeps its field ids.

    Raises:
        UnsupportedOperation: Iceberg cannot say it exactly.
        TaskFailed: It is not what was converted before.
    """
    _check(delta)
    configuration = delta.metadata.configuration
    mode = configuration.get(_MODE, "none")
    before: Mapping[str, str] = (shown or {}).get("properties") or {}
    if shown is not None and before.get(_MAPPED) != mode:
        raise _another("its column mapping was changed")
    last_id = max(int(configuration.get(_HIGHEST, 0)), (shown or {}).get("last-column-id", 0))
    columns = columns_of(delta.metadata.schema_string, places_in(before.get(NAME_MAPPING)), last_id)
    partition = _partition(columns, delta.metadata.partition_columns)
    if shown is not None and [each.id for each in partition] != _partitioned(shown):
        raise _another("it is partitioned by other columns")
    return Plan(
        columns,
        LiveFiles(delta.files, location, columns, partition),
        {NAME_MAPPING: columns.mapping_text, _MAPPED: mode},
    )


def _check(delta: Snapshot) -> None:
    protocol = delta.protocol
    if READ_ONLY in (protocol.writer_features or ()):
        raise UnsupportedOperation(
            "the Delta table shows an Iceberg table already: convert from that one"
        )
    if unknown := sorted(set(protocol.reader_features or ()) - _READER_FEATURES):
        raise UnsupportedOperation(
            f"the Delta table uses features that Iceberg cannot say: {', '.join(unknown)}: "
            "drop them (ALTER TABLE … DROP FEATURE)"
        )
    if delta.files.deletion_vectors:
        raise UnsupportedOperation(
            "rows of the Delta table are deleted by deletion vectors: rewrite its files "
            "(REORG TABLE … APPLY (PURGE))"
        )


def _partition(columns: Columns, names: Sequence[str]) -> list[Column]:
    found = {column.name.lower(): column for column in columns.top}
    return [found[name.lower()] for name in names]


def _partitioned(shown: Mapping[str, Any]) -> list[int]:
    specs = {spec["spec-id"]: spec for spec in shown["partition-specs"]}
    return [field["source-id"] for field in specs[shown["default-spec-id"]]["fields"]]


def _another(why: str) -> TaskFailed:
    return TaskFailed(
        f"the Delta table was converted before, and since then {why}: convert it to another `target`",
        error_code="INVALID_PAYLOAD",
    )
