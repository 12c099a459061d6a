"""The field ids in data files, for Iceberg clients that read them file by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sluicegate_iceberg.format.metadata.schema import Field, List, Map, Primitive, Type

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
