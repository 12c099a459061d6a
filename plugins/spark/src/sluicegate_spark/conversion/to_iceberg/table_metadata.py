"""Models of the metadata of an Iceberg table, as returned by its catalog.

Source: Iceberg REST specification, `LoadTableResult` and `TableMetadata`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from sluicegate_iceberg.rest.responses import CatalogResponse, Properties

# Only keys that matter to readers. Catalogs can add documentation and defaults.
_COMPARED_KEYS = frozenset(
    (
        *("id", "name", "required", "type", "fields"),
        *("element-id", "element", "element-required"),
        *("key-id", "key", "value-id", "value", "value-required"),
    )
)
_NO_SNAPSHOT = -1  # some catalogs write this instead of null


def _snapshot_id(value: object) -> object:
    return None if value == _NO_SNAPSHOT else value


def _tuple(value: object) -> object:
    return () if value is None else value


class IcebergSchema(CatalogResponse):
    """A schema of the table."""

    schema_id: int = Field(default=0, alias="schema-id")
    fields: tuple[Mapping[str, Any], ...]


class PartitionField(CatalogResponse):
    """A field of a partition spec."""

    source_id: int = Field(alias="source-id")
    field_id: int = Field(alias="field-id")
    transform: str


class PartitionSpec(CatalogResponse):
    """A partition spec of the table."""

    spec_id: int = Field(alias="spec-id")
    fields: tuple[PartitionField, ...]

    def is_identity_of(self, sources: Sequence[int]) -> bool:
        """Return whether the spec partitions by these columns' values (field ids), in this order."""
        return [(each.source_id, each.transform) for each in self.fields] == [
            (source, "identity") for source in sources
        ]


class IcebergSnapshot(CatalogResponse):
    """A snapshot of the table."""

    snapshot_id: int = Field(alias="snapshot-id")
    schema_id: int | None = Field(default=None, alias="schema-id")
    manifest_list: str = Field(default="", alias="manifest-list")
    summary: Properties = Field(default_factory=dict)


class IcebergTableMetadata(CatalogResponse):
    """`TableMetadata`."""

    table_uuid: str = Field(default="", alias="table-uuid")
    location: str
    last_sequence_number: int = Field(default=0, alias="last-sequence-number")
    last_column_id: int = Field(default=0, alias="last-column-id")
    schemas: Annotated[tuple[IcebergSchema, ...], BeforeValidator(_tuple)] = ()
    current_schema_id: int = Field(default=0, alias="current-schema-id")
    partition_specs: Annotated[tuple[PartitionSpec, ...], BeforeValidator(_tuple)] = Field(
        default=(), alias="partition-specs"
    )
    default_spec_id: int = Field(default=0, alias="default-spec-id")
    properties: Properties = Field(default_factory=dict)
    snapshots: Annotated[tuple[IcebergSnapshot, ...], BeforeValidator(_tuple)] = ()
    current_snapshot_id: Annotated[int | None, BeforeValidator(_snapshot_id)] = Field(
        default=None, alias="current-snapshot-id"
    )

    @property
    def current(self) -> IcebergSnapshot | None:
        """Return the current snapshot, if there is one."""
        wanted = self.current_snapshot_id
        return next((each for each in self.snapshots if each.snapshot_id == wanted), None)

    @property
    def spec(self) -> PartitionSpec:
        """Return the default partition spec."""
        return self._specs[self.default_spec_id]

    @property
    def _specs(self) -> dict[int, PartitionSpec]:
        return {each.spec_id: each for each in self.partition_specs}

    @model_validator(mode="after")
    def _has_what_it_names(self) -> Self:
        if self.default_spec_id not in self._specs:
            raise ValueError("default-spec-id is not among partition-specs")
        if self.current_schema_id not in {each.schema_id for each in self.schemas}:
            raise ValueError("current-schema-id is not among schemas")
        return self

    def schema_ids(self, fields: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return ids of schemas with these fields and field ids, the current schema's id first."""
        wanted = comparable_schema(fields)
        found = [each.schema_id for each in self.schemas if comparable_schema(each.fields) == wanted]
        return sorted(found, key=lambda id_: id_ != self.current_schema_id)


class LoadTableResult(CatalogResponse):
    """`LoadTableResult`."""

    metadata_location: str | None = Field(default=None, alias="metadata-location")
    metadata: IcebergTableMetadata

    @property
    def directories(self) -> list[str]:
        """Return the table's directory, and the directory of the catalog's metadata files."""
        kept = (self.metadata_location or "").rpartition("/")[0]
        found = (self.metadata.location, kept.rpartition("/")[0])
        return [each.rstrip("/") for each in found if each]


def comparable_schema(value: Any) -> Any:
    """Return types and fields of a schema, without keys that make no difference to readers."""
    if isinstance(value, str):
        return value.replace(" ", "")
    if isinstance(value, Mapping):
        return {
            name: each if name == "name" else comparable_schema(each)
            for name, each in value.items()
            if name in _COMPARED_KEYS
        }
    return [comparable_schema(each) for each in value] if isinstance(value, list | tuple) else value
