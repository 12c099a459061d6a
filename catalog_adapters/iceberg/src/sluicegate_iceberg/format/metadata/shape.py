"""Chooses how a table is declared: with column names, or with field ids (docs/adr/0016)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from sluicegate.api import UnsupportedOperation
from sluicegate.formats import TableProtocol
from sluicegate_iceberg.format.metadata.schema import Field, List, Map, Primitive, Struct, Type, places

ResponseFormat = Literal["delta", "parquet"]
FieldMetadata = Callable[[Field], Mapping[str, Any]]

_SAME: Mapping[str, str] = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "string": "string",
    "binary": "binary",
    "timestamptz": "timestamp",
    "timestamptz_ns": "timestamp",
}
_WITHOUT_ZONE = ("timestamp", "timestamp_ns")
_SHOWN = 100  # characters of a name
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def schema_string(columns: Struct, format_: ResponseFormat, metadata: FieldMetadata) -> str:
    """Return the Delta schema, without parts that the response format can't represent."""
    declared = _struct(columns, format_, metadata)
    if declared is None:
        raise UnsupportedOperation("no column of the Iceberg table has a type that can be shared")
    return orjson.dumps(declared).decode()


def without_zone(columns: Iterable[Type]) -> bool:
    """Return whether any of these types is or contains a timestamp without time zone."""
    for type_ in columns:
        parts: Iterable[Type] = ()
        if isinstance(type_, Primitive):
            if type_.name in _WITHOUT_ZONE:
                return True
        elif isinstance(type_, Struct):
            parts = (field.type for field in type_.fields)
        else:
            parts = (type_.element,) if isinstance(type_, List) else (type_.key, type_.value)
        if without_zone(parts):
            return True
    return False


def _struct(struct: Struct, format_: ResponseFormat, metadata: FieldMetadata) -> Any:
    typed = ((field, _type(field.type, format_, metadata)) for field in struct.fields)
    fields = [
        {"name": field.name, "type": type_, "nullable": True, "metadata": metadata(field)}
        for field, type_ in typed
        if type_ is not None
    ]
    return {"type": "struct", "fields": fields} if fields else None


def _type(type_: Type, format_: ResponseFormat, metadata: FieldMetadata) -> Any:
    """Return Delta's type; `None` for types that are left out."""
    if isinstance(type_, Primitive):
        return _primitive(type_.name, format_)
    if isinstance(type_, Struct):
        return _struct(type_, format_, metadata)
    if isinstance(type_, List):
        element = _type(type_.element, format_, metadata)
        return element and {"type": "array", "elementType": element, "containsNull": True}
    key, value = _type(type_.key, format_, metadata), _type(type_.value, format_, metadata)
    return (
        key and value and {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    )


def _primitive(name: str, format_: ResponseFormat) -> str | None:
    if name in _SAME:
        return _SAME[name]
    if name in _WITHOUT_ZONE:
        return "timestamp_ntz" if format_ == "delta" else "timestamp"
    if match := _DECIMAL.fullmatch(name):
        return f"decimal({match[1]},{match[2]})"
    if name == "uuid" or name.startswith("fixed"):
        return "binary" if format_ == "parquet" else None
    if name == "time":
        return None
    raise UnsupportedOperation(
        f"the Iceberg table has a column of type {name[:_SHOWN]}, which Delta Sharing cannot "
        "represent: share a view or a copy without the column"
    )


_MIN_READER, _MIN_WRITER = 3, 7  # the versions that list features by name
# Names that writers use unchanged in Parquet files; others are encoded as in Avro.
_KEPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Shape:
    """Metadata of a table in the sharing protocol, and names of columns in statistics.

    Attributes:
        parquet_schema: Schema in parquet format; `None` if only delta format is correct.
    """

    by_name: bool
    delta_schema: str
    parquet_schema: str | None
    features: tuple[str, ...]
    columns: tuple[Field, ...]

    @property
    def configuration(self) -> dict[str, str]:
        """Return the table properties that readers of Delta tables use."""
        if self.by_name:
            return {"delta.enableChangeDataFeed": "true"}
        highest = max(place.field.id for place in places(Struct(self.columns)))
        return {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": str(highest)}

    def protocol(self, *, deletion_vectors: bool) -> TableProtocol:
        """Return the required protocol. Readers of change feeds look for the writer feature."""
        readers = (*(("deletionVectors",) if deletion_vectors else ()), *self.features)
        writers = (*readers, *(("changeDataFeed",) if self.by_name else ()))
        return TableProtocol(_MIN_READER, _MIN_WRITER, readers, writers)

    def physical(self, field: Field) -> str:
        """Return the name of a column in statistics."""
        return field.name if self.by_name else physical_name(field)


def shape_of(schema: Struct, history: Iterable[Struct], *, known: bool) -> Shape:
    """Return the shape with which a schema can read files of all schemas."""
    schemas = (schema, *history)
    _check(schema, schemas)
    by_name = known and _stable(schemas)
    metadata = _nothing if by_name else _mapping
    zoneless = without_zone([schema])
    return Shape(
        by_name,
        schema_string(schema, "delta", metadata),
        schema_string(schema, "parquet", metadata) if by_name else None,
        (*(() if by_name else ("columnMapping",)), *(("timestampNtz",) if zoneless else ())),
        schema.fields,
    )


def physical_name(field: Field) -> str:
    """Return a name that occurs in no file: readers fall back to names if a field id is missing."""
    return f"col-{field.id}"


def _nothing(_: Field) -> Mapping[str, Any]:
    return {}


def _mapping(field: Field) -> Mapping[str, Any]:
    return {
        "delta.columnMapping.id": field.id,
        "delta.columnMapping.physicalName": physical_name(field),
    }


def _stable(schemas: Iterable[Struct]) -> bool:
    """Return whether field ids and names always corresponded one to one, ignoring case."""
    names: dict[int, str] = {}
    ids: dict[tuple[int, str], int] = {}
    for schema in schemas:
        for place in places(schema):
            field, key = place.field, (place.parent, place.field.name.lower())
            if names.setdefault(field.id, field.name) != field.name:
                return False
            if ids.setdefault(key, field.id) != field.id:
                return False
            if not _KEPT.fullmatch(field.name):
                return False
    return True


def unapplied_default(column: str) -> str:
    """Explain why a table is rejected if some of its files lack a column with a default."""
    return (
        f"column '{column}' was added to the Iceberg table with a default, which recipients cannot "
        "apply: rewrite the table with it, and then expire the old snapshots with their schemas "
        "(expire_snapshots with clean_expired_metadata)"
    )


def _check(schema: Struct, schemas: Sequence[Struct]) -> None:
    types: dict[int, set[Type]] = {}
    schemas_with: Counter[int] = Counter()
    for each in schemas:
        fields = {place.field.id: place.field.type for place in places(each)}
        schemas_with.update(fields.keys())
        for id_, type_ in fields.items():
            types.setdefault(id_, set()).add(type_)
    seen: set[tuple[int, str]] = set()
    for place in places(schema):
        field, key = place.field, (place.parent, place.field.name.lower())
        if key in seen:
            raise UnsupportedOperation(
                "the Iceberg table has columns that differ only in case: rename "
                f"'{field.name}' or the other one"
            )
        seen.add(key)
        if field.default and schemas_with[field.id] < len(schemas):
            raise UnsupportedOperation(unapplied_default(field.name))
        if any(_was_date(type_, field.type) for type_ in types[field.id]):
            raise UnsupportedOperation(
                f"column '{field.name}' of the Iceberg table was changed from date to timestamp, "
                "which readers of old files cannot handle: rewrite the table, and then expire the "
                "old snapshots with their schemas (expire_snapshots with clean_expired_metadata)"
            )


def _was_date(old: Type, new: Type) -> bool:
    """Return whether a date became a timestamp (Iceberg specification, "Schema Evolution").

    Nested fields are not checked.
    """
    if isinstance(old, List) and isinstance(new, List):
        return _was_date(old.element, new.element)
    if isinstance(old, Map) and isinstance(new, Map):
        return _was_date(old.key, new.key) or _was_date(old.value, new.value)
    return old == Primitive("date") and isinstance(new, Primitive) and new != old
