"""How the files of a snapshot are read: from the declared schema and those of its manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap

import orjson

from sluicegate.api import Budget, CatalogTable
from sluicegate.formats import TableMetadata
from sluicegate_iceberg.format.broken import in_file
from sluicegate_iceberg.format.inflating import take_json
from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata
from sluicegate_iceberg.format.metadata.required import required_columns
from sluicegate_iceberg.format.metadata.schema import (
    Field,
    List,
    Map,
    Primitive,
    Struct,
    Type,
    parse_struct,
    places,
)
from sluicegate_iceberg.format.metadata.shape import Shape, shape_of

# Delta has only microseconds. A client that expects these misreads the nanoseconds in files.
_INEXACT = (Primitive("timestamp_ns"), Primitive("timestamptz_ns"))


def field_ids(columns: Iterable[Field]) -> dict[str, int]:
    """Return the ids of fields by their paths; see `TableMetadata.field_ids`."""
    return {
        path: id_
        for column in columns
        for path, id_, type_ in _walk(column.name, column.id, column.type)
        if type_ not in _INEXACT
    }


def _walk(path: str, id_: int | None, type_: Type) -> Iterator[tuple[str, int, Type]]:
    if id_ is not None:
        yield path, id_, type_
    if isinstance(type_, List):
        yield from _walk(f"{path}.element", type_.element_id, type_.element)
    elif isinstance(type_, Map):
        yield from _walk(f"{path}.key", type_.key_id, type_.key)
        yield from _walk(f"{path}.value", type_.value_id, type_.value)
    elif not isinstance(type_, Primitive):
        for field in type_.fields:
            yield from _walk(f"{path}.{field.name}", field.id, field.type)


def way_of_reading(
    metadata: IcebergMetadata, schema: Struct, written: Mapping[str, str], budget: Budget
) -> tuple[Shape, dict[int, str]]:
    """Return the shape of a snapshot, and the columns that each of its files must contain."""

    def parsed(text: str, what: str) -> Struct:
        with in_file(what):
            take_json(text.encode(), what, budget)
            return parse_struct(orjson.loads(text))

    shape = shape_of(
        schema,
        [*metadata.schemas.values(), *starmap(parsed, written.items())],
        known=metadata.all_schemas and _called_as_mapped(metadata, schema),
    )
    return shape, required_columns(metadata, Struct(shape.columns))


def described_by(shape: Shape, metadata: IcebergMetadata, table: CatalogTable) -> TableMetadata:
    """Return the metadata of a table with a shape, in the form in which the gateway shares it."""
    return TableMetadata(
        id=metadata.table_uuid or table.id,
        schema_string=shape.delta_schema,
        parquet_schema_string=shape.parquet_schema,
        configuration=shape.configuration,
        field_ids=field_ids(shape.columns),
    )


def _called_as_mapped(metadata: IcebergMetadata, schema: Struct) -> bool:
    """Ensure that files without field ids, if any, use the current names of columns."""
    mapped = metadata.mapped_names
    names = ((place.field.name, mapped.get(place.field.id)) for place in places(schema))
    return all(known in (None, (name,)) for name, known in names)
