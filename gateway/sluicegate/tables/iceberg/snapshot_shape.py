"""The shape of a version for Iceberg clients."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.api.errors import TableUnreadable, UnsupportedOperation
from sluicegate.tables.column_mapping import FIELD_ID, PHYSICAL_NAME
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.features import VECTORS, needs_of
from sluicegate.tables.iceberg.delta_schema import AssignId, refused, translated
from sluicegate.tables.iceberg.delta_types import VARIANT
from sluicegate.tables.iceberg.shape import (
    FIRST_HIDDEN_ID,
    FIRST_WITH_VECTORS,
    Field,
    IcebergShape,
    ListOf,
    MapOf,
    OwnMetadata,
    PartitionField,
    Spec,
    SpecField,
    Struct,
    Type,
    children,
    fields_of,
)
from sluicegate.tables.partitions import partition_key
from sluicegate.tables.snapshot import TableMetadata
from sluicegate.tables.versions import DescribedVersion

# Tables do not assign it themselves: their specs are numbered from 0.
_UNPARTITIONED = 1_000_000_000
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d{1,9})\s*\]")
_PLAIN = frozenset(
    (
        "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
        "timestamp_ns", "timestamptz_ns", "string", "uuid", "binary",
    )
)  # fmt: skip
_SINCE_3 = ("timestamp_ns", "timestamptz_ns")
_TRANSFORM = re.compile(r"(identity|void|year|month|day|hour|(?:bucket|truncate)\[\d{1,10}\])")
_SAME_TYPE = ("identity", "void", "truncate")


def declared_shape(
    metadata: TableMetadata, declaration: IcebergDeclaration, format_version: int
) -> IcebergShape:
    """The schema and the partition specs of a version, as the table declares them.

    Args:
        format_version: The least format version that clients must support.
    """
    names = dict(_physical_names(orjson.loads(metadata.schema_string)))
    try:
        written = orjson.loads(declaration.schema)
        schema = _Reader(names).struct(written, "")
        own = _own(declaration, written, schema)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TableUnreadable("the table declares a malformed schema", detail=repr(error)) from error
    types = {field.type for field in fields_of(schema)}
    return IcebergShape(
        schema=schema,
        partition_fields=(),
        last_column_id=max((field.id for field in fields_of(schema)), default=0),
        format_version=max(format_version, 3 if types.intersection(_SINCE_3) else 2),
        own=own,
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads types."""

    names: Mapping[int, str]

    def struct(self, written: Any, shown: str) -> Struct:
        return Struct(tuple(self._field(each, shown) for each in written["fields"]))

    def _field(self, written: Any, parent: str) -> Field:
        name, id_, doc = str(written["name"]), written["id"], written.get("doc")
        shown = f"{parent}.{name}" if parent else name
        return Field(
            id=_id(id_, shown),
            name=name,
            type=self._type(written["type"], shown),
            physical_name=self.names.get(id_, f"field-{id_}") if self.names else name,
            required=written["required"] is True,
            doc=doc if isinstance(doc, str) else None,
        )

    def _type(self, written: Any, shown: str) -> Type:
        if isinstance(written, str):
            return _primitive(written, shown)
        if written["type"] == "struct":
            return self.struct(written, shown)
        if written["type"] == "list":
            return ListOf(self._part(written, "element", shown))
        if written["type"] == "map":
            return MapOf(self._part(written, "key", shown), self._part(written, "value", shown))
        return _primitive(written["type"], shown)

    def _part(self, written: Any, name: str, parent: str) -> Field:
        shown = f"{parent}.{name}"
        return Field(
            _id(written.get(f"{name}-id"), shown),
            name,
            self._type(written[name], shown),
            name,
            required=name == "key" or written.get(f"{name}-required") is True,
        )


def _id(value: Any, shown: str) -> int:
    if type(value) is not int or not 0 <= value < FIRST_HIDDEN_ID:
        raise refused(shown, "has no valid field id")
    return value


def _primitive(name: str, shown: str) -> str:
    if decimal := _DECIMAL.fullmatch(name):
        return f"decimal({decimal[1]}, {decimal[2]})"
    if fixed := _FIXED.fullmatch(name):
        return f"fixed[{fixed[1]}]"
    if name not in _PLAIN:
        raise refused(shown, f"has the type {name[:100]}, which is not offered")
    return name


def _own(declaration: IcebergDeclaration, written: Any, schema: Struct) -> OwnMetadata:
    types = {field.id: field.type for field in fields_of(schema)}
    specs = [*_specs(orjson.loads(declaration.specs), types)]
    if all(spec.fields for spec in specs):
        specs.append(Spec(_UNPARTITIONED, ()))
    ids = {spec.id for spec in specs}
    default, unpartitioned = declaration.default_spec, next(s.id for s in specs if not s.fields)
    return OwnMetadata(
        schema_id=int(written["schema-id"]),
        identifiers=tuple(id_ for id_ in written.get("identifier-field-ids") or () if id_ in types),
        specs=tuple(specs),
        default_spec=default if default in ids else unpartitioned,
        sort_order=declaration.sort_order,
    )


def _specs(written: Any, types: Mapping[int, Type]) -> Iterator[Spec]:
    """The specs that clients can read with a schema. Files of others are listed without a partition."""
    for spec in written:
        fields = [_spec_field(field, types) for field in spec["fields"]]
        known = tuple(field for field in fields if field is not None)
        if len(known) == len(fields):
            yield Spec(int(spec["spec-id"]), known)


def _spec_field(written: Any, types: Mapping[int, Type]) -> SpecField | None:
    source, transform = types.get(written["source-id"]), written["transform"]
    if not isinstance(source, str) or not _TRANSFORM.fullmatch(transform):
        return None
    return SpecField(
        int(written["field-id"]),
        int(written["source-id"]),
        str(written["name"]),
        transform,
        _result(transform.partition("[")[0], source),
    )


def _result(transform: str, source: str) -> str:
    if transform in _SAME_TYPE:
        return source
    return "date" if transform == "day" else "int"


def _physical_names(type_: Any) -> Iterator[tuple[int, str]]:
    """Names in statistics by field ids, of a table whose columns are mapped by ids."""
    if isinstance(type_, dict):
        for field in type_.get("fields", ()):
            details = field.get("metadata") or {}
            if FIELD_ID in details and PHYSICAL_NAME in details:
                yield details[FIELD_ID], details[PHYSICAL_NAME]
            yield from _physical_names(field["type"])
        for part in ("elementType", "keyType", "valueType"):
            yield from _physical_names(type_.get(part))


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
    """The table's schema and partitioning for Iceberg clients."""
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
