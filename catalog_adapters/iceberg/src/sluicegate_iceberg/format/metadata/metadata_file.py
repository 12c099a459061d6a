"""Parses table metadata files (Iceberg specification, "Table Metadata"), versions 1, 2 and 3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from sluicegate.api import Budget, TableUnreadable
from sluicegate_iceberg.format.broken import in_file
from sluicegate_iceberg.format.inflating import GZIP, check_length, inflated, take_json
from sluicegate_iceberg.format.metadata.partitioning import Partitioning, parse_partitioning
from sluicegate_iceberg.format.metadata.schema import Struct, parse_struct
from sluicegate_iceberg.format.metadata.values import text, whole

_T = TypeVar("_T")

_VERSIONS = (1, 2, 3)
_GZIPPED = b"\x1f\x8b"
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000, 253_402_300_799_999  # years 1 to 9999, in milliseconds
_NAME_MAPPING = "schema.name-mapping.default"


@dataclass(frozen=True, slots=True)
class IcebergSnapshot:
    """A snapshot (Iceberg specification, "Snapshots").

    Attributes:
        timestamp: Epoch milliseconds.
        to_empty: It added the first files to an empty table, so an expired parent had none.
        deletes: Whether there are delete files. True if this is unknown.
    """

    id: int
    parent: int | None
    sequence_number: int
    timestamp: int
    manifest_list: str | None
    manifests: tuple[str, ...]
    schema_id: int | None
    rearranged: bool
    to_empty: bool
    deletes: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A branch or tag, and the snapshot that it names (Iceberg specification, "Snapshot Retention")."""

    snapshot_id: int
    is_tag: bool


@dataclass(frozen=True, slots=True)
class IcebergMetadata:
    """The parts of a metadata file that readers need."""

    format_version: int
    table_uuid: str | None
    last_updated: int
    schemas: Mapping[int, Struct]
    current_schema_id: int
    all_schemas: bool
    snapshots: Mapping[int, IcebergSnapshot]
    current_snapshot_id: int | None
    were_current: frozenset[int]
    refs: Mapping[str, Reference]
    name_mapping: bool
    mapped_names: Mapping[int, tuple[str, ...]]
    partitioning: Partitioning
    written_schemas: Mapping[int, Mapping[str, Any]]

    def schema_of(self, snapshot: IcebergSnapshot | None) -> Struct:
        """Return the schema that a snapshot names, or else the table's."""
        known = None if snapshot is None or snapshot.schema_id is None else snapshot.schema_id
        return self.schemas.get(
            self.current_schema_id if known is None else known, self.schemas[self.current_schema_id]
        )

    @property
    def current(self) -> IcebergSnapshot | None:
        """Return the newest snapshot of the main branch; `None` for an empty table."""
        if self.current_snapshot_id is None:
            return None
        return self.snapshots[self.current_snapshot_id]


def parse_metadata(
    data: bytes, budget: Budget | None = None, what: str = "the metadata file"
) -> IcebergMetadata:
    """Parse a metadata file, gzipped or not."""
    budget = budget or Budget()
    with in_file(what):
        content = _unzipped(data, budget, what) if data[:2] == _GZIPPED else data
        take_json(content, what, budget)
        value = orjson.loads(content)
        version = whole(value["format-version"])
    if version not in _VERSIONS:
        raise TableUnreadable(
            f"the Iceberg table has format version {version}: versions 1 to {_VERSIONS[-1]} can be read"
        )
    with in_file(what):
        return _parse(version, value, budget, what)


def _unzipped(data: bytes, budget: Budget, what: str) -> bytearray:
    content = bytearray()
    for piece in inflated(memoryview(data), GZIP, budget, what):
        content += piece
        check_length(len(content), what)
    return content


def _parse(version: int, value: Mapping[str, Any], budget: Budget, what: str) -> IcebergMetadata:
    # Only version 1 permits a single schema without an id.
    listed = value.get("schemas") or [value["schema"]]
    schemas = {whole(each.get("schema-id", 0)): parse_struct(each) for each in listed}
    current_schema_id = whole(value.get("current-schema-id", 0))
    if current_schema_id not in schemas:
        raise KeyError("current-schema-id")
    snapshots = {each.id: each for each in map(_snapshot, value.get("snapshots") or ())}
    current = value.get("current-snapshot-id")
    if current == -1:
        current = None
    if current is not None and whole(current) not in snapshots:
        raise KeyError("current-snapshot-id")
    mapping = (value.get("properties") or {}).get(_NAME_MAPPING)
    if mapping is not None:
        take_json(text(mapping).encode(), what, budget)
    return IcebergMetadata(
        format_version=version,
        table_uuid=_if_set(text, value.get("table-uuid")),
        last_updated=_time(value.get("last-updated-ms", 0)),
        schemas=schemas,
        current_schema_id=current_schema_id,
        all_schemas="schemas" in value and set(schemas) == set(range(len(schemas))),
        snapshots=snapshots,
        current_snapshot_id=current,
        were_current=frozenset(whole(each["snapshot-id"]) for each in value.get("snapshot-log") or ()),
        refs={name: _reference(each) for name, each in (value.get("refs") or {}).items()},
        name_mapping=mapping is not None,
        mapped_names=dict(_mapped_names(orjson.loads(mapping or b"[]"))),
        partitioning=parse_partitioning(value),
        written_schemas={whole(each.get("schema-id", 0)): each for each in listed},
    )


def _mapped_names(fields: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Return names in a name mapping (Iceberg specification, "Name Mapping Serialization")."""
    for field in fields:
        if "field-id" in field:
            yield whole(field["field-id"]), tuple(map(text, field["names"]))
        yield from _mapped_names(field.get("fields") or ())


def _snapshot(value: Mapping[str, Any]) -> IcebergSnapshot:
    summary = value.get("summary") or {}
    added = summary.get("added-data-files")
    return IcebergSnapshot(
        id=whole(value["snapshot-id"]),
        parent=_if_set(whole, value.get("parent-snapshot-id")),
        sequence_number=whole(value.get("sequence-number") or 0, 0),
        timestamp=_time(value["timestamp-ms"]),
        manifest_list=_if_set(text, value.get("manifest-list")),
        manifests=tuple(map(text, value.get("manifests") or ())),
        schema_id=_if_set(whole, value.get("schema-id")),
        rearranged=summary.get("operation") == "replace",
        to_empty=summary.get("operation") == "append"
        and added is not None
        and added == summary.get("total-data-files"),
        deletes=summary.get("total-delete-files") != "0",
    )


def _reference(value: Mapping[str, Any]) -> Reference:
    kind = value["type"]
    if kind not in ("branch", "tag"):
        raise ValueError("type")
    return Reference(whole(value["snapshot-id"]), is_tag=kind == "tag")


def _time(value: object) -> int:
    """Validate a time in epoch milliseconds."""
    return whole(value, _FIRST_TIME, _LAST_TIME)


def _if_set(parse: Callable[[object], _T], value: object) -> _T | None:
    return None if value is None else parse(value)
