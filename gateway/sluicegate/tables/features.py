"""The reader features that a table actually uses, and which of them parquet format cannot express."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from sluicegate._util.lru import cached_by_text
from sluicegate.tables.changes import TableState
from sluicegate.tables.column_mapping import BY_NAME, FIELD_ID, NOT_MAPPED, PHYSICAL_NAME, mapping_mode
from sluicegate.tables.snapshot import Snapshot, TableMetadata, TableProtocol

_PARTS = ("elementType", "keyType", "valueType")


def spanning_needs(states: Sequence[TableState], *, deletion_vectors: bool) -> FeatureNeeds:
    """The features that reading files of all of these states requires."""
    needs = [
        needs_of(state.protocol, state.metadata, deletion_vectors=deletion_vectors) for state in states
    ]
    return FeatureNeeds(
        declared=_union(each.declared for each in needs),
        required=_union(each.required for each in needs),
        beyond_parquet=_union(each.beyond_parquet for each in needs),
    )


def spanning_protocol(protocols: Sequence[TableProtocol]) -> TableProtocol:
    """The minimum protocol under which a reader supports the files of all of these."""
    reader = max(protocol.min_reader_version for protocol in protocols)
    writer = max(protocol.min_writer_version for protocol in protocols)
    readers = _union(map(declared_features, protocols))
    writers = _union(protocol.writer_features or () for protocol in protocols)
    listed = any(protocol.reader_features is not None for protocol in protocols)
    written = listed or any(protocol.writer_features is not None for protocol in protocols)
    return TableProtocol(
        reader,
        writer,
        readers if listed else None,
        _union((writers, readers)) if written else None,
    )


def extends(newer: TableMetadata, older: TableMetadata) -> bool:
    """Whether the newer schema contains all of the older one, and possibly more.

    Rows of the older one can then be read with the newer one: missing values are null.
    """
    return newer.partition_columns == older.partition_columns and _has(
        orjson.loads(newer.schema_string), orjson.loads(older.schema_string)
    )


def _has(newer: Any, older: Any) -> bool:
    if not (isinstance(newer, Mapping) and isinstance(older, Mapping)):
        return bool(newer == older)
    if newer["type"] != older["type"]:
        return False
    fields = {field["name"]: field["type"] for field in newer.get("fields", ())}
    return all(
        field["name"] in fields and _has(fields[field["name"]], field["type"])
        for field in older.get("fields", ())
    ) and all(_has(newer[part], older[part]) for part in _PARTS if part in older)


def _union(features: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All names, each once, in the order in which they appear."""
    return tuple(dict.fromkeys(chain.from_iterable(features)))


# Features of the log itself. A recipient gets a list of files and does not need them.
LOG_ONLY = frozenset({"v2Checkpoint", "vacuumProtocolCheck", "catalogManaged", "catalogOwned-preview"})
VECTORS = "deletionVectors"
_MAPPING = "columnMapping"
_WIDENING = ("typeWidening", "typeWidening-preview")
_VARIANT = ("variantType", "variantType-preview")
# How the values of variants are stored. Only the files show it, so it counts if it is declared.
_SHREDDING = ("variantShredding", "variantShredding-preview")
READER_FEATURES = frozenset(
    (VECTORS, _MAPPING, "timestampNtz", "geospatial", *_WIDENING, *_VARIANT, *_SHREDDING, *LOG_ONLY)
)
"""Delta protocol, "Valid Feature Names in Table Features", their previews, and `geospatial`.

All of them are features of readers and writers.
"""
# The features that each writer version adds (Delta protocol, "Valid Feature Names").
OF_WRITER_VERSIONS = (
    (2, ("appendOnly", "invariants")),
    (3, ("checkConstraints",)),
    (4, ("changeDataFeed", "generatedColumns")),
    (5, ("columnMapping",)),
    (6, ("identityColumns",)),
)
_LISTING = 3  # the reader version of protocols that list their features
_GEOSPATIAL = ("geometry", "geography")


@dataclass(frozen=True, slots=True)
class FeatureNeeds:
    """Reader features of a table, with the protocol's capitalization."""

    declared: tuple[str, ...]
    required: tuple[str, ...]
    beyond_parquet: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SchemaTraits:
    timestamp_ntz: bool
    variant: bool
    geospatial: bool
    widened: bool
    mapped: bool
    renamed: bool


def feature_needs(snapshot: Snapshot) -> FeatureNeeds:
    """The features that reading this snapshot's live files requires."""
    vectors = snapshot.files.deletion_vectors
    return needs_of(snapshot.protocol, snapshot.metadata, deletion_vectors=vectors)


def needs_of(
    protocol: TableProtocol, metadata: TableMetadata, *, deletion_vectors: bool
) -> FeatureNeeds:
    """The features that reading files of a table requires.

    They follow from the properties, the schema and the files. Readers that rely on the protocol alone
    return null or deleted rows without an error if it lacks a feature that the files need.
    """
    declared = declared_features(protocol)
    traits, mode = _traits(metadata.schema_string), mapping_mode(metadata)
    # A property alone, without physical names or ids in the schema, maps nothing.
    mapped = mode != NOT_MAPPED and (traits.mapped or _MAPPING in declared)
    shown: Mapping[tuple[str, ...], bool] = {
        (VECTORS,): deletion_vectors,
        (_MAPPING,): mapped,
        ("timestampNtz",): traits.timestamp_ntz,
        _WIDENING: traits.widened,
        _VARIANT: traits.variant,
        ("geospatial",): traits.geospatial,
    }
    lacking = [names[0] for names, found in shown.items() if found and not {*names} & {*declared}]
    declared = (*declared, *lacking)
    used = {name: found for names, found in shown.items() for name in names}
    used |= dict.fromkeys(_SHREDDING, traits.variant) | dict.fromkeys(LOG_ONLY, False)
    required = tuple(name for name in declared if used.get(name, True))
    # By id, a file can have any names, such as a column's former one.
    sayable = {_MAPPING} if mode == BY_NAME and not traits.renamed else set()
    if metadata.parquet_schema_string is not None:
        sayable.add("timestampNtz")
    return FeatureNeeds(declared, required, tuple(name for name in required if name not in sayable))


def declared_features(protocol: TableProtocol) -> tuple[str, ...]:
    """Reader features that a protocol names, or implies by its version."""
    if protocol.min_reader_version >= _LISTING:
        return protocol.reader_features or ()
    writers = protocol.writer_features
    implied = protocol.min_reader_version == 2 and (writers is None or _MAPPING in writers)
    return (_MAPPING,) if implied else ()


def declaring(protocol: TableProtocol, features: Sequence[str]) -> TableProtocol:
    """The protocol with all of these reader features declared. Unchanged if it declares them.

    Otherwise, it lists its features, including those that its versions implied (Delta protocol, "Table
    Features").
    """
    declared = declared_features(protocol)
    lists = protocol.min_reader_version < _LISTING or protocol.reader_features is not None
    if lists and set(features) <= set(declared):
        return protocol
    readers = tuple(dict.fromkeys((*declared, *features)))
    written = protocol.writer_features
    if written is None:
        newest = protocol.min_writer_version
        implied = (names for version, names in OF_WRITER_VERSIONS if version <= newest)
        written = tuple(chain.from_iterable(implied))
    return TableProtocol(3, 7, readers, tuple(dict.fromkeys((*written, *readers))))


def schema_fields(schema_string: str) -> Iterator[Mapping[str, Any]]:
    """Every field of a table's schema, including nested ones (Delta protocol, "Struct Field")."""
    return _walk(orjson.loads(schema_string), set())


@cached_by_text
def primitive_types(schema_string: str) -> frozenset[str]:
    """The names of the primitive types in a table's schema (Delta protocol, "Primitive Types")."""
    types: set[str] = set()
    for _ in _walk(orjson.loads(schema_string), types):
        pass
    return frozenset(types)


@cached_by_text
def column_names(schema_string: str) -> frozenset[str]:
    """The names of the columns of a schema, case-folded."""
    return frozenset(field["name"].casefold() for field in orjson.loads(schema_string)["fields"])


@cached_by_text
def _traits(schema_string: str) -> _SchemaTraits:
    types: set[str] = set()
    fields = list(_walk(orjson.loads(schema_string), types))
    metadata = [field.get("metadata") or {} for field in fields]
    return _SchemaTraits(
        timestamp_ntz="timestamp_ntz" in types,
        variant="variant" in types,
        geospatial=any(kind.partition("(")[0] in _GEOSPATIAL for kind in types),
        widened=any("delta.typeChanges" in item for item in metadata),
        mapped=any(PHYSICAL_NAME in item or FIELD_ID in item for item in metadata),
        renamed=any(
            item.get(PHYSICAL_NAME, field["name"]) != field["name"]
            for field, item in zip(fields, metadata, strict=True)
        ),
    )


def _walk(schema: Any, types: set[str]) -> Iterator[Mapping[str, Any]]:
    """Every field of a schema, including nested ones. Adds the names of primitive types to `types`."""
    if isinstance(schema, str):
        types.add(schema)
        return
    for field in schema.get("fields", ()):
        yield field
        yield from _walk(field["type"], types)
    for part in ("elementType", "keyType", "valueType"):
        if part in schema:
            yield from _walk(schema[part], types)
