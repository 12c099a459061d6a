"""The shape of a version for Iceberg clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.tables.features import VECTORS, needs_of
from sluicegate.tables.iceberg.declared_shape import declared_shape
from sluicegate.tables.iceberg.delta_schema import AssignId, refused, translated
from sluicegate.tables.iceberg.delta_types import VARIANT
from sluicegate.tables.iceberg.shape import (
    FIRST_WITH_VECTORS,
    IcebergShape,
    PartitionField,
    Struct,
    Type,
    children,
    fields_of,
)
from sluicegate.tables.partitions import partition_key
from sluicegate.tables.snapshot import TableMetadata
from sluicegate.tables.versions import DescribedVersion

# By convention, partition fields have ids from 1000. All specs of a table share them.
_BEFORE_PARTITION_IDS = 1000
_MAX_PARTITION_ID = 2**31 - 1
# Columns that writers of Delta tables add to data files, for change data feeds and row tracking.
_HIDDEN = ("_change_type", "__is_cdc")
_HIDDEN_BY_PROPERTY = (
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)
_EXPRESSIBLE = {
    VECTORS,
    "columnMapping",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "variantType",
    "variantType-preview",
    "variantShredding",
    "variantShredding-preview",
}


def shape_of(version: DescribedVersion, assign: AssignId) -> IcebergShape:
    """The table's schema and partitioning for Iceberg clients.

    Args:
        version: The version.
        assign: Returns the id of a field without an id in the table; see `translated`.

    Raises:
        UnsupportedOperation: Iceberg cannot express a type, a change of a type, or a feature of the
            table. The message names it.
    """
    needs = needs_of(version.protocol, version.metadata, deletion_vectors=version.deletion_vectors)
    required = needs.required
    if others := [name for name in required if name not in _EXPRESSIBLE]:
        raise UnsupportedOperation(
            f"Iceberg clients cannot read the table: it uses {others[0]}, which Iceberg does not have"
        )
    if (declaration := version.metadata.iceberg) is not None:
        # Deletes of earlier format versions are read by more clients as what they are.
        has_vectors = VECTORS in required and declaration.format_version >= FIRST_WITH_VECTORS
        declared = declared_shape(version.metadata, declaration, 3 if has_vectors else 2)
        _check_unique(declared.schema)
        return declared
    schema = translated(version.metadata, assign)
    _check_unique(schema)
    return IcebergShape(
        schema=schema,
        partition_fields=tuple(_partition_fields(version.metadata, schema)),
        last_column_id=max((each.id for each in fields_of(schema)), default=0),
        format_version=3 if VECTORS in required or _has_variants(schema) else 2,
        hidden=tuple(_hidden(version.metadata, schema)),
    )


def _has_variants(schema: Struct) -> bool:
    return any(each.type == VARIANT for each in fields_of(schema))


def _hidden(metadata: TableMetadata, schema: Struct) -> Iterator[str]:
    properties = (metadata.configuration.get(name) for name in _HIDDEN_BY_PROPERTY)
    columns = {each.physical_name for each in schema.fields}
    return (name for name in (*_HIDDEN, *properties) if name and name not in columns)


def _check_unique(schema: Struct) -> None:
    """Clients index fields by id and by the dotted path of names."""
    ids = Counter(each.id for each in fields_of(schema))
    names = Counter(_paths(schema))
    for each in fields_of(schema):
        if ids[each.id] > 1:
            raise refused(each.name, "has the same id as another one")
    for name, count in names.items():
        if count > 1:
            raise refused(name, "has the same name as another one, if dots separate nested names")


def _paths(type_: Type, prefix: str = "") -> Iterator[str]:
    for each in children(type_):
        path = f"{prefix}{each.name}"
        yield path
        yield from _paths(each.type, f"{path}.")


def _can_partition(type_: Type) -> bool:
    return isinstance(type_, str) and type_ != VARIANT


def _partition_fields(metadata: TableMetadata, schema: Struct) -> Iterator[PartitionField]:
    columns = {each.name.casefold(): each for each in schema.fields}
    used: set[int] = set()
    for name in metadata.partition_columns:
        column, key = columns.get(name.casefold()), partition_key(metadata, name)
        if column is None or key is None or not _can_partition(column.type):
            raise refused(name, "is a partition column without a primitive type")
        if column.id in used:
            raise refused(name, "is a partition column twice")
        used.add(column.id)
        id_ = _BEFORE_PARTITION_IDS + column.id
        if id_ > _MAX_PARTITION_ID:
            raise refused(name, "is a partition column with an id that is too large")
        yield PartitionField(id_, column, key)
