"""The shape of a table for Iceberg clients: schema with field ids, and partition fields.

Source: Iceberg specification, "Schemas and Data Types" and "Partitioning".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

FIRST_HIDDEN_ID = 2_147_483_400
"""The field id of the first of `IcebergShape.hidden`, below the ids that Iceberg reserves."""

FIRST_WITH_VECTORS = 3
"""The first format version of Iceberg that has deletion vectors."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct, the element of a list, or the key or value of a map."""

    id: int
    name: str
    type: Type
    physical_name: str
    required: bool = False
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct; the schema of a table is one."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list."""

    element: Field


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map."""

    key: Field
    value: Field


Type = str | Struct | ListOf | MapOf


def children(type_: Type) -> tuple[Field, ...]:
    """The fields directly in a type; none in a primitive type."""
    if isinstance(type_, Struct):
        return type_.fields
    if isinstance(type_, ListOf):
        return (type_.element,)
    return (type_.key, type_.value) if isinstance(type_, MapOf) else ()


def fields_of(type_: Type) -> Iterator[Field]:
    """All fields in a type, each before the fields in its own type."""
    for child in children(type_):
        yield child
        yield from fields_of(child.type)


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A partition field with the transform `identity`."""

    id: int
    source: Field
    key: str


@dataclass(frozen=True, slots=True)
class SpecField:
    """A partition field of an Iceberg table."""

    id: int
    source_id: int
    name: str
    transform: str
    type: str


@dataclass(frozen=True, slots=True)
class Spec:
    """A partition spec of an Iceberg table."""

    id: int
    fields: tuple[SpecField, ...]


@dataclass(frozen=True, slots=True)
class OwnMetadata:
    """What an Iceberg table declares itself, apart from its columns.

    Attributes:
        sort_order: The order of new files as JSON, or `None`.
    """

    schema_id: int
    identifiers: tuple[int, ...]
    specs: tuple[Spec, ...]
    default_spec: int
    sort_order: str | None = None

    @property
    def unpartitioned(self) -> int:
        """The id of the spec without fields."""
        return next(spec.id for spec in self.specs if not spec.fields)


@dataclass(frozen=True, slots=True)
class IcebergShape:
    """A table's schema and partitioning at one version.

    Attributes:
        format_version: The Iceberg format version that its clients must support, 2 or 3.
        own: Set for Iceberg tables. They have no `partition_fields`: their data files contain all
            columns, so that no filter needs to be decided by partitions.
    """

    schema: Struct
    partition_fields: tuple[PartitionField, ...]
    last_column_id: int
    format_version: int
    hidden: tuple[str, ...] = ()
    own: OwnMetadata | None = None
