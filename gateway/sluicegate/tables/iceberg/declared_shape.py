"""The shape of an Iceberg table, in the words of its own metadata.

Source: Iceberg specification, "Schemas and Data Types", "Partitioning" and "JSON serialization".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.column_mapping import FIELD_ID, PHYSICAL_NAME
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.iceberg.delta_schema import refused
from sluicegate.tables.iceberg.shape import (
    FIRST_HIDDEN_ID,
    Field,
    IcebergShape,
    ListOf,
    MapOf,
    OwnMetadata,
    Spec,
    SpecField,
    Struct,
    Type,
    fields_of,
)
from sluicegate.tables.snapshot import TableMetadata

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
        metadata: The version's metadata. Its Delta schema has the names in statistics.
        declaration: The version's declaration.
        format_version: The least format version that clients must support.

    Raises:
        TableUnreadable: The declaration is malformed.
        UnsupportedOperation: A column has a type that clients cannot read. The message names it.
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
    """Reads types.

    Attributes:
        names: The names of fields in statistics, by id. If there are any, columns are mapped, and other
            fields have no statistics.
    """

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
