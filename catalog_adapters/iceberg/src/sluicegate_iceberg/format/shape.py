"""How a table is declared: by its columns' names, or by field ids (docs/adr/0016)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluicegate.api import UnsupportedOperation
from sluicegate_iceberg.format.schema import Field, List, Map, Primitive, Struct, Type, places
from sluicegate_iceberg.format.types import schema_string, without_zone

# Names that writers put into Parquet files as they are; others they spell as Avro would.
_KEPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Shape:
    """What the protocol's metadata says of a table, and how statistics name its columns.

    Attributes:
        by_name: Files are read by the names of the columns; else by field ids.
        delta_schema: Schema in delta format.
        parquet_schema: Schema in parquet format; `None` where only delta format is right.
        features: Reader features.
        columns: Top-level columns.
    """

    by_name: bool
    delta_schema: str
    parquet_schema: str | None
    features: tuple[str, ...]
    columns: tuple[Field, ...]

    @property
    def configuration(self) -> dict[str, str]:
        """The table properties that readers of Delta tables go by."""
        if self.by_name:
            return {"delta.enableChangeDataFeed": "true"}
        highest = max(place.field.id for place in places(Struct(self.columns)))
        return {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": str(highest)}

    @property
    def writer_features(self) -> tuple[str, ...]:
        """Features for writers; that of change feeds is what their readers look for."""
        return (*self.features, *(("changeDataFeed",) if self.by_name else ()))

    def physical(self, field: Field) -> str:
        """What the statistics call a column."""
        return field.name if self.by_name else physical_name(field)


def shape_of(schema: Struct, history: Iterable[Struct], *, known: bool) -> Shape:
    """The shape for reading files of all schemas with one of them.

    Args:
        schema: What is declared.
        history: Every schema that a live file may have been written with.
        known: That is all of them.

    Raises:
        UnsupportedOperation: No shape gives the right rows.
    """
    schemas = (schema, *history)
    _check(schema, schemas)
    by_name = known and _stable(schemas)
    metadata = _nothing if by_name else _mapping
    zoneless = without_zone([schema])
    return Shape(
        by_name,
        schema_string(schema, "delta", metadata),
        schema_string(schema, "parquet", metadata) if by_name else None,
        (
            "deletionVectors",
            *(() if by_name else ("columnMapping",)),
            *(("timestampNtz",) if zoneless else ()),
        ),
        schema.fields,
    )


def physical_name(field: Field) -> str:
    """A name that occurs in no file, as readers look for it where they do not find the field id."""
    return f"col-{field.id}"


def _nothing(_: Field) -> Mapping[str, Any]:
    return {}


def _mapping(field: Field) -> Mapping[str, Any]:
    return {
        "delta.columnMapping.id": field.id,
        "delta.columnMapping.physicalName": physical_name(field),
    }


def _stable(schemas: Iterable[Struct]) -> bool:
    """Each field id always had one name, and each name one field id, whatever its case."""
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
    """Why a table is refused some of whose files lack a column that has a default."""
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
                f"column '{field.name}' of the Iceberg table held dates before it held timestamps, "
                "which readers of old files do not know: rewrite the table, and then expire the old "
                "snapshots with their schemas (expire_snapshots with clean_expired_metadata)"
            )


def _was_date(old: Type, new: Type) -> bool:
    """Dates became timestamps (Iceberg specification, "Schema Evolution"); not of nested fields."""
    if isinstance(old, List) and isinstance(new, List):
        return _was_date(old.element, new.element)
    if isinstance(old, Map) and isinstance(new, Map):
        return _was_date(old.key, new.key) or _was_date(old.value, new.value)
    return old == Primitive("date") and isinstance(new, Primitive) and new != old
