"""Describes a snapshot of a table for people. Imports Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.tables.features import feature_needs
from sluicegate.tables.snapshot import Snapshot

_MOST_COLUMNS = 1000
# Characters. Nested types can be as long as a page.
_LONGEST = 1000
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column of a table."""

    name: str
    type: str
    nullable: bool
    comment: str
    partition: bool


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table at one version.

    Attributes:
        timestamp: When the version was committed, epoch milliseconds.
        bytes: Size of these.
    """

    version: int
    timestamp: int
    files: int
    bytes: int
    format: str
    description: str | None
    partition_columns: tuple[str, ...]
    min_reader_version: int
    features: tuple[str, ...]
    columns: tuple[ColumnFacts, ...]
    more_columns: int


def table_facts(snapshot: Snapshot) -> TableFacts:
    """Describe a snapshot. Long schemas take some time: call it in a thread."""
    metadata = snapshot.metadata
    fields = orjson.loads(metadata.schema_string).get("fields", [])
    partitions = frozenset(metadata.partition_columns)
    return TableFacts(
        version=snapshot.version,
        timestamp=snapshot.timestamp,
        files=len(snapshot.files),
        bytes=snapshot.files.size,
        format=metadata.provider,
        description=_shortened(metadata.description or "") or None,
        partition_columns=metadata.partition_columns,
        min_reader_version=snapshot.protocol.min_reader_version,
        features=feature_needs(snapshot).required,
        columns=tuple(_column(each, partitions) for each in fields[:_MOST_COLUMNS]),
        more_columns=max(0, len(fields) - _MOST_COLUMNS),
    )


def _column(field: Mapping[str, Any], partitions: frozenset[str]) -> ColumnFacts:
    comment = (field.get("metadata") or {}).get("comment", "")
    return ColumnFacts(
        name=str(field["name"]),
        type=_shortened("".join(_type(field["type"]))),
        nullable=bool(field.get("nullable", True)),
        comment=_shortened(comment if isinstance(comment, str) else ""),
        partition=field["name"] in partitions,
    )


def _type(declared: Any) -> Iterator[str]:
    """A type as in SQL: `array<struct<a: int>>`. Schemas are nested at most 100 levels deep."""
    if not isinstance(declared, dict):
        yield str(declared)
        return
    kind = declared.get("type")
    yield f"{kind}<"
    if kind == "struct":
        for number, field in enumerate(declared.get("fields", ())):
            yield f"{', ' if number else ''}{field['name']}: "
            yield from _type(field["type"])
    elif kind == "map":
        yield from _type(declared.get("keyType"))
        yield ", "
        yield from _type(declared.get("valueType"))
    else:
        yield from _type(declared.get("elementType"))
    yield ">"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}{_ELLIPSIS}"
