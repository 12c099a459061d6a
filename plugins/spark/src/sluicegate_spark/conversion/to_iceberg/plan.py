"""Plans the Iceberg table of a conversion: schema, data files and properties."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sluicegate.api import TaskFailed, UnsupportedOperation
from sluicegate.formats import DeltaVersion
from sluicegate_spark.conversion.origin import MIRROR_FEATURE
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.manifests import Layout
from sluicegate_spark.conversion.to_iceberg.schema import Column, Columns, columns_of, field_ids_in
from sluicegate_spark.conversion.to_iceberg.table_metadata import IcebergTableMetadata, PartitionSpec

NAME_MAPPING: Final = "schema.name-mapping.default"
# The name mapping as originally set. Some catalogs add names to the property above.
SET_NAME_MAPPING: Final = "sluicegate.source.name-mapping"
_MAPPED: Final = "sluicegate.source.column-mapping"
_MODE = "delta.columnMapping.mode"
_HIGHEST = "delta.columnMapping.maxColumnId"
# Table features that don't change how data files and rows are read, or that are implemented here.
_READER_FEATURES = frozenset(
    ("columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck")
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned Iceberg table."""

    columns: Columns
    files: EntryFormat
    properties: dict[str, str]

    @property
    def partition_sources(self) -> list[int]:
        """Return field ids of the partition columns."""
        return [column.id for column in self.files.partition]

    def with_dropped(self, paths: Iterable[str]) -> Plan:
        """Return the plan with fields that are in data files, but no longer in the Delta table."""
        columns = self.columns.with_dropped(paths)
        return replace(self, columns=columns, properties=self.properties | _name_mapping(columns))

    def layout(self, schema_id: int, spec: PartitionSpec) -> Layout:
        """Return properties of the manifests, with the ids that the catalog assigned."""
        schema = {**self.columns.schema, "schema-id": schema_id}
        field_ids = [each.field_id for each in spec.fields]
        return Layout(schema, self.files.partition, spec.spec_id, field_ids)


def plan_of(delta: DeltaVersion, location: str, existing: IcebergTableMetadata | None) -> Plan:
    """Translate a Delta table."""
    _check(delta)
    configuration = delta.metadata.configuration
    mode = configuration.get(_MODE, "none")
    before = {} if existing is None else existing.properties
    if existing is not None and before.get(_MAPPED) != mode:
        raise _another("its column mapping was changed")
    last_id = max(
        int(configuration.get(_HIGHEST, 0)), 0 if existing is None else existing.last_column_id
    )
    known = field_ids_in(before.get(SET_NAME_MAPPING, before.get(NAME_MAPPING)))
    columns = columns_of(delta.metadata.schema_string, known, last_id)
    if len(set(columns.field_ids.values())) < len(columns.field_ids):
        raise _another("new columns got field ids that the converted table already uses")
    partition = _partition(columns, delta.metadata.partition_columns)
    plan = Plan(
        columns,
        EntryFormat(location, columns, partition),
        {**_name_mapping(columns), _MAPPED: mode},
    )
    if existing is not None and not existing.spec.is_identity_of(plan.partition_sources):
        raise _another("it is partitioned by other columns")
    return plan


def _name_mapping(columns: Columns) -> dict[str, str]:
    return dict.fromkeys((NAME_MAPPING, SET_NAME_MAPPING), columns.mapping_text)


def _check(delta: DeltaVersion) -> None:
    protocol = delta.protocol
    if MIRROR_FEATURE in (protocol.writer_features or ()):
        raise UnsupportedOperation(
            "the Delta table was itself converted from an Iceberg table: use that table instead"
        )
    if unknown := sorted(set(protocol.reader_features or ()) - _READER_FEATURES):
        raise UnsupportedOperation(
            f"the Delta table uses features that Iceberg does not support: {', '.join(unknown)}: "
            "drop them (ALTER TABLE … DROP FEATURE)"
        )


def _partition(columns: Columns, names: Sequence[str]) -> list[Column]:
    found = {column.name.lower(): column for column in columns.top}
    return [found[name.lower()] for name in names]


def _another(why: str) -> TaskFailed:
    return TaskFailed(
        f"the Delta table was converted before, and since then {why}: convert it to another `target`",
        error_code="INVALID_PAYLOAD",
    )
