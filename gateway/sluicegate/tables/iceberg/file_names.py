"""Names in data files without field ids, which a table's name mapping must contain.

Source: Iceberg specification, "Column Projection" and "Name Mapping Serialization".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sluicegate.tables.iceberg.shape import FIRST_HIDDEN_ID

Names = Mapping[str, "Names"]
"""Names of fields, each with those of the fields in its type."""

_FIELD_ID = b"PARQUET:field_id"


def names_without_ids(schema: Iterable[pa.Field]) -> Names:
    """The names of all fields of a file. Empty if all of them have ids, because clients use these."""
    fields = list(schema)
    return {} if all(map(_has_ids, fields)) else _names(fields)


def add_names(mapping: list[dict[str, Any]], files: Sequence[Names], used_ids: Collection[int]) -> None:
    """Add names of files to a name mapping, which then has all of them.

    A name that differs only in case from that of one field is another name of this field, because
    writers of Delta tables ignore case. Any other name gets an id that no field has.
    """
    free = (id_ for id_ in range(FIRST_HIDDEN_ID - 1, 0, -1) if id_ not in used_ids)
    for names in files:
        _add(mapping, names, free)


def _add(mapping: list[dict[str, Any]], names: Names, free: Iterator[int]) -> None:
    exact = {name: entry for entry in mapping for name in entry["names"]}
    similar: dict[str, list[dict[str, Any]]] = {}
    for entry in mapping:
        for name in dict.fromkeys(each.casefold() for each in entry["names"]):
            similar.setdefault(name, []).append(entry)
    for name, inner in names.items():
        found = exact.get(name) or _other_case(similar.get(name.casefold(), ()), names)
        if found is None:
            found = {"field-id": next(free), "names": []}
            mapping.append(found)
        if name not in found["names"]:
            found["names"].append(name)
        if inner:
            _add(found.setdefault("fields", []), inner, free)


def _other_case(entries: Sequence[dict[str, Any]], names: Names) -> dict[str, Any] | None:
    """The only entry, unless the file has its name, too."""
    if len(entries) != 1 or any(name in names for name in entries[0]["names"]):
        return None
    return entries[0]


def _names(fields: Iterable[pa.Field]) -> Names:
    return {field.name: _named(field.type) for field in fields}


def _named(type_: pa.DataType) -> Names:
    return {name: _named(field.type) for name, field in _parts(type_)}


def _has_ids(field: pa.Field) -> bool:
    inner = (each for _, each in _parts(field.type))
    return _FIELD_ID in (field.metadata or {}) and all(map(_has_ids, inner))


def _is_variant(type_: pa.DataType) -> bool:
    """Whether a type is that of a variant (Parquet format, "Variant"), whose fields are no columns."""
    if not pa.types.is_struct(type_):
        return False
    fields = {field.name: field.type for field in type_}
    return fields.keys() - {"typed_value"} == {"metadata", "value"} and pa.types.is_binary(
        fields["metadata"]
    )


def _parts(type_: pa.DataType) -> list[tuple[str, pa.Field]]:
    """The fields in a type, with their names in a name mapping."""
    if _is_variant(type_):
        return []
    if pa.types.is_struct(type_):
        return [(field.name, field) for field in type_]
    if pa.types.is_map(type_):
        return [("key", type_.key_field), ("value", type_.item_field)]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return [("element", type_.value_field)]
    return []
