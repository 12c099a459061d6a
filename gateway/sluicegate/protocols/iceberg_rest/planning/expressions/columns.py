"""Finds columns of a table by the full names that clients use.

Source: Iceberg REST specification, "FieldName".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sluicegate.api.errors import InvalidRequest
from sluicegate.tables.iceberg.shape import Field, IcebergShape, ListOf, MapOf, Struct, Type

_SHOWN = 100  # characters of a name in a message


@dataclass(frozen=True, slots=True)
class TableField:
    """A column of a table.

    Attributes:
        fields: The fields from the top of the schema down to it.
        in_structs: Whether all fields above it are structs, so that a row has one value of it.
        place: Its place among the partition fields, or `None` if it is not a partition column.
    """

    fields: tuple[Field, ...]
    in_structs: bool = True
    place: int | None = None

    @property
    def field(self) -> Field:
        """The column's own field."""
        return self.fields[-1]

    @property
    def primitive(self) -> str | None:
        """Its type, or `None` if that is nested."""
        return self.field.type if isinstance(self.field.type, str) else None


class Columns:
    """The columns of a table by name.

    Args:
        shape: The table's shape.
        case_sensitive: Whether upper and lower case differ.
    """

    def __init__(self, shape: IcebergShape, *, case_sensitive: bool) -> None:
        self._case_sensitive = case_sensitive
        self._named: dict[str, TableField | None] = {}
        for name, column in _all_columns(shape):
            key = name if case_sensitive else name.casefold()
            self._named[key] = None if key in self._named else column

    def find(self, name: str, where: str) -> TableField:
        """The column with a full name.

        Args:
            name: As the client wrote it.
            where: The field of the request that names it, for the message.

        Raises:
            InvalidRequest: The table has no such column, or several.
        """
        key = name if self._case_sensitive else name.casefold()
        column = self._named.get(key)
        if column is None:
            problem = "more than one column" if key in self._named else "no column"
            raise InvalidRequest(f"{where}: the table has {problem} named {name[:_SHOWN]!r}")
        return column


@lru_cache(maxsize=64)
def columns_of(shape: IcebergShape, *, case_sensitive: bool) -> Columns:
    """The columns of a shape, which are kept for later requests of the same table."""
    return Columns(shape, case_sensitive=case_sensitive)


def _all_columns(shape: IcebergShape) -> Iterator[tuple[str, TableField]]:
    places = {part.source.id: place for place, part in enumerate(shape.partition_fields)}
    waiting = [
        (field.name, TableField((field,), place=places.get(field.id))) for field in shape.schema.fields
    ]
    while waiting:
        name, column = waiting.pop()
        yield name, column
        for child in _children(column.field.type):
            inside = column.in_structs and isinstance(column.field.type, Struct)
            fields, place = (*column.fields, child), places.get(child.id)
            waiting.append((f"{name}.{child.name}", TableField(fields, inside, place)))


def _children(kind: Type) -> tuple[Field, ...]:
    match kind:
        case Struct(fields):
            return fields
        case ListOf(element):
            return (_named("element", element),)
        case MapOf(key, value):
            return _named("key", key), _named("value", value)
    return ()


def _named(name: str, field: Field) -> Field:
    return Field(field.id, name, field.type, field.physical_name, field.required, field.doc)
