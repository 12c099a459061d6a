"""Which reader features a table really uses, and which of them parquet format cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from sluicegate.tables.snapshot import Snapshot, TableMetadata, TableProtocol

# Features of the log itself: a recipient gets a list of files, so reading them takes none of these.
LOG_ONLY = frozenset({"v2Checkpoint", "vacuumProtocolCheck", "catalogManaged", "catalogOwned-preview"})
_WIDENING = ("typeWidening", "typeWidening-preview")
_VARIANT = ("variantType", "variantType-preview", "variantShredding-preview", "variantShredding")


@dataclass(frozen=True, slots=True)
class FeatureNeeds:
    """Reader features of a table, in the protocol's own spelling.

    Attributes:
        declared: What the table's protocol names (or implies by its version).
        required: What reading these files really takes.
        beyond_parquet: The part of `required` that the parquet response format cannot express.
    """

    declared: tuple[str, ...]
    required: tuple[str, ...]
    beyond_parquet: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SchemaTraits:
    timestamp_ntz: bool
    variant: bool
    widened: bool
    renamed: bool


def feature_needs(snapshot: Snapshot) -> FeatureNeeds:
    """What reading this snapshot's live files takes."""
    vectors = snapshot.files.deletion_vectors
    return needs_of(snapshot.protocol, snapshot.metadata, deletion_vectors=vectors)


def needs_of(
    protocol: TableProtocol, metadata: TableMetadata, *, deletion_vectors: bool
) -> FeatureNeeds:
    """What reading files of a table takes, given whether any of them has a deletion vector."""
    declared = declared_features(protocol)
    traits = _traits(metadata.schema_string)
    mapped = metadata.configuration.get("delta.columnMapping.mode", "none") != "none"
    used = {
        "deletionVectors": deletion_vectors,
        "columnMapping": mapped,
        "timestampNtz": traits.timestamp_ntz,
        **dict.fromkeys(_WIDENING, traits.widened),
        **dict.fromkeys(_VARIANT, traits.variant),
        **dict.fromkeys(LOG_ONLY, False),
    }
    required = tuple(name for name in declared if used.get(name, True))
    sayable = {"columnMapping"} if mapped and not traits.renamed else set()
    if metadata.parquet_schema_string is not None:
        sayable.add("timestampNtz")
    return FeatureNeeds(declared, required, tuple(name for name in required if name not in sayable))


def declared_features(protocol: TableProtocol) -> tuple[str, ...]:
    """Reader features that a protocol names, or implies by its version."""
    if protocol.reader_features is not None:
        return protocol.reader_features
    return ("columnMapping",) if protocol.min_reader_version >= 2 else ()


@lru_cache(maxsize=256)
def _traits(schema_string: str) -> _SchemaTraits:
    types: set[str] = set()
    fields = list(_walk(orjson.loads(schema_string), types))
    metadata = [field.get("metadata") or {} for field in fields]
    return _SchemaTraits(
        timestamp_ntz="timestamp_ntz" in types,
        variant="variant" in types,
        widened=any("delta.typeChanges" in item for item in metadata),
        renamed=any(
            item.get("delta.columnMapping.physicalName", field["name"]) != field["name"]
            for field, item in zip(fields, metadata, strict=True)
        ),
    )


def _walk(schema: Any, types: set[str]) -> Iterator[Mapping[str, Any]]:
    """Every field of a schema, nested ones too; the names of primitive types are put into `types`."""
    if isinstance(schema, str):
        types.add(schema)
        return
    for field in schema.get("fields", ()):
        yield field
        yield from _walk(field["type"], types)
    for part in ("elementType", "keyType", "valueType"):
        if part in schema:
            yield from _walk(schema[part], types)
