"""Finds columns of a table by the full names that clients use.

Source: Iceberg REST specification, "FieldName".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sluicegate.api.errors import InvalidRequest
from sluicegate.tables.iceberg.shape import Field, IcebergShape, ListOf, MapOf, Struct, Type

_SHOWN = 100  # characters of a name in a message


@dataclass(frozen=True, slots=True)
class TableField:
    """A column of a table.

    Attributes:
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

    Names are found level by level. An index of full names could be thousands of times as large as the
    schema, in which a struct has its name once for all of its fields.
    """

    def __init__(self, shape: IcebergShape, *, case_sensitive: bool) -> None:
        self._case_sensitive = case_sensitive
        self._schema = shape.schema
        self._places = {part.source.id: place for place, part in enumerate(shape.partition_fields)}
        self._levels: dict[int, Mapping[str, Sequence[Field]]] = {}  # by identities of structs

    def find(self, name: str, where: str) -> TableField:
        """The column with a full name."""
        found = list(islice(self._matches(self._schema, self._key(name), ()), 2))
        if len(found) != 1:
            problem = "more than one column" if found else "no column"
            raise InvalidRequest(f"{where}: the table has {problem} named {name[:_SHOWN]!r}")
        [fields] = found
        in_structs = all(isinstance(field.type, Struct) for field in fields[:-1])
        return TableField(fields, in_structs, self._places.get(fields[-1].id))

    def _key(self, name: str) -> str:
        return name if self._case_sensitive else name.casefold()

    def _matches(self, kind: Type, name: str, above: tuple[Field, ...]) -> Iterator[tuple[Field, ...]]:
        """The fields from the top of the schema down to each one that the rest of a name can mean."""
        level = self._level(kind)
        for field in level.get(name, ()):
            yield (*above, field)
        end = name.find(".")
        while end >= 0:
            for field in level.get(name[:end], ()):
                if not isinstance(field.type, str):
                    yield from self._matches(field.type, name[end + 1 :], (*above, field))
            end = name.find(".", end + 1)

    def _level(self, kind: Type) -> Mapping[str, Sequence[Field]]:
        """The fields of a type by their names."""
        level = self._levels.get(id(kind))
        if level is None:
            found: dict[str, list[Field]] = defaultdict(list)
            for field in _children(kind):
                found[self._key(field.name)].append(field)
            level = self._levels[id(kind)] = found
        return level


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
