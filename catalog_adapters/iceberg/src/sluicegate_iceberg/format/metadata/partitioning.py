"""Parses partition specs and sort orders (Iceberg specification, "Partitioning" and "Sorting")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sluicegate_iceberg.format.metadata.values import text, whole

IDENTITY: Final = "identity"

_LAST_ID = 2**31 - 1
_FIRST_ID = 1000  # of partition fields, where old writers left the ids out


@dataclass(frozen=True, slots=True)
class SpecField:
    """A partition field. Equal ids mean equal fields, in all specs of a table."""

    id: int
    source_id: int
    name: str
    transform: str

    @property
    def key(self) -> str:
        """Return its key in the text of a partition; see `IcebergDeclaration.specs`."""
        return f"={self.source_id}" if self.transform == IDENTITY else str(self.id)

    @property
    def json(self) -> dict[str, Any]:
        """Return the field as in metadata files."""
        return {
            "field-id": self.id,
            "source-id": self.source_id,
            "name": self.name,
            "transform": self.transform,
        }


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The partition specs and the sort order of a table.

    Attributes:
        sort_order: The order of new files as in the metadata file. `None` if it has none.
    """

    specs: Mapping[int, Sequence[SpecField]]
    default_spec: int
    sort_order: Mapping[str, Any] | None

    @property
    def identities(self) -> frozenset[int]:
        """Return ids of fields that were ever used for identity partitioning."""
        fields = (field for spec in self.specs.values() for field in spec)
        return frozenset(field.source_id for field in fields if field.transform == IDENTITY)


def parse_partitioning(value: Mapping[str, Any]) -> Partitioning:
    """Parse the members of a metadata file."""
    # Only version 1 permits a single spec without an id.
    listed = value.get("partition-specs") or [{"fields": value.get("partition-spec") or ()}]
    specs = {whole(each.get("spec-id", 0), 0, _LAST_ID): tuple(_fields(each)) for each in listed}
    default = whole(value.get("default-spec-id", max(specs)))
    return Partitioning(specs, default, _sort_order(value))


def _fields(spec: Mapping[str, Any]) -> Iterator[SpecField]:
    for place, field in enumerate(spec["fields"]):
        yield SpecField(
            whole(field.get("field-id", _FIRST_ID + place), 0, _LAST_ID),
            whole(field["source-id"], 0, _LAST_ID),
            text(field["name"]),
            text(field["transform"]),
        )


def _sort_order(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the default order, if it sorts by fields of the table."""
    wanted = value.get("default-sort-order-id")
    orders: Iterable[Mapping[str, Any]] = value.get("sort-orders") or ()
    for order in orders:
        if order["order-id"] == wanted and order["fields"]:
            return {"order-id": whole(wanted, 1, _LAST_ID), "fields": [*map(_sorted, order["fields"])]}
    return None


def _sorted(field: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "transform": text(field["transform"]),
        "source-id": whole(field["source-id"], 0, _LAST_ID),
        "direction": text(field["direction"]),
        "null-order": text(field["null-order"]),
    }
