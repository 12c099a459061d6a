"""Keeps protocol and table properties of a response in delta format consistent with each other.

Clients that build a Delta log from a response check both. If a property enables a feature that the
protocol does not name, they reject the table (docs/adr/0037).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sluicegate._util.lru import cached_by_text
from sluicegate.tables.features import (
    OF_WRITER_VERSIONS,
    READER_FEATURES,
    declared_features,
    schema_fields,
)
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

# Writer-only features that a writer version implies. They do not affect readers, so they are named if
# metadata enable them, regardless of the table's own protocol.
_LEGACY_WRITERS = {
    name: version for version, names in OF_WRITER_VERSIONS for name in names if name != "columnMapping"
}
_COLUMN_METADATA = {
    "delta.invariants": "invariants",
    "delta.generationExpression": "generatedColumns",
    "delta.identity.start": "identityColumns",
    "CURRENT_DEFAULT": "allowColumnDefaults",
}
_CONSTRAINTS = "delta.constraints."
_SUPPORTED = "delta.feature."

# By property: the features that it enables, one of which the protocol must name (Delta protocol,
# "Valid Feature Names in Table Features", and the features of Delta 4.4 that are not in there).
_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "delta.appendOnly": ("appendOnly",),
    "delta.enableChangeDataFeed": ("changeDataFeed",),
    "delta.columnMapping.mode": ("columnMapping",),
    "delta.enableDeletionVectors": ("deletionVectors",),
    "delta.enableRowTracking": ("rowTracking",),
    "delta.checkpointPolicy": ("v2Checkpoint",),
    "delta.enableIcebergCompatV1": ("icebergCompatV1",),
    "delta.enableIcebergCompatV2": ("icebergCompatV2",),
    "delta.enableIcebergCompatV3": ("icebergCompatV3",),
    "delta.enableIcebergWriterCompatV1": ("icebergWriterCompatV1",),
    "delta.enableIcebergWriterCompatV3": ("icebergWriterCompatV3",),
    "delta.enableInCommitTimestamps": ("inCommitTimestamp",),
    "delta.inCommitTimestampEnablementVersion": ("inCommitTimestamp",),
    "delta.inCommitTimestampEnablementTimestamp": ("inCommitTimestamp",),
    "delta.enableTypeWidening": ("typeWidening", "typeWidening-preview"),
    "delta.enableVariantShredding": ("variantShredding", "variantShredding-preview"),
    "delta.coordinatedCommits.commitCoordinator-preview": ("coordinatedCommits-preview",),
    "delta.requireCheckpointProtectionBeforeVersion": ("checkpointProtection",),
    "delta.enableMaterializePartitionColumnsFeature": ("materializePartitionColumns",),
    "delta.redirectReaderWriter-preview": ("redirectReaderWriter-preview",),
    "delta.redirectWriterOnly-preview": ("redirectWriterOnly-preview",),
}
_OFF = {"delta.columnMapping.mode": "none", "delta.checkpointPolicy": "classic"}

# A protocol that names a feature must also name these.
_DEPENDENCIES = {
    "rowTracking": ("domainMetadata",),
    "clustering": ("domainMetadata",),
    "icebergCompatV1": ("columnMapping",),
    "icebergCompatV2": ("columnMapping",),
    "icebergCompatV3": ("columnMapping", "rowTracking"),
    "icebergWriterCompatV1": ("icebergCompatV2",),
    "icebergWriterCompatV3": ("icebergCompatV3",),
    "coordinatedCommits-preview": ("inCommitTimestamp", "vacuumProtocolCheck"),
    "catalogManaged": ("inCommitTimestamp", "vacuumProtocolCheck"),
    "catalogOwned-preview": ("inCommitTimestamp", "vacuumProtocolCheck"),
    "variantShredding": ("variantType",),
}
# Commits of the recipient's log are made of lines, which have no field for a separate timestamp.
_LOG_WRITERS = frozenset({"inCommitTimestamp"})


@dataclass(frozen=True, slots=True)
class AnsweredFeatures:
    """The table features that the protocol lines of one response name."""

    kept: tuple[str, ...]
    required: tuple[str, ...]
    writers: frozenset[str]

    @classmethod
    def of(
        cls, kept: Sequence[str], required: Sequence[str], shown: Iterable[TableMetadata]
    ) -> AnsweredFeatures:
        """The features of a response that contains these metadata."""
        writers = frozenset(name for metadata in shown for name in _legacy_writers(metadata))
        return cls(tuple(kept), tuple(required), writers)

    def protocol(self, table: TableProtocol) -> TableProtocol:
        """The protocol to return for the table's protocol, or for the minimum of a range."""
        table = _with_own_lists(table)
        if table.writer_features is None:
            needed = (_LEGACY_WRITERS.get(name, 0) for name in self.writers)
            return replace(table, min_writer_version=max(table.min_writer_version, *needed, 0))
        readers = table.reader_features
        kept = [name for name in self.kept if readers is None or name in readers]
        # Clients reject a feature of readers and writers that only the writers' list names.
        dropped = READER_FEATURES.union(readers or ()).difference(kept) | _LOG_WRITERS
        listed = [name for name in table.writer_features if name not in dropped]
        if readers is not None:
            listed += [name for name in kept if name not in listed]
        names = self._complete(listed)
        return replace(
            table,
            reader_features=None if readers is None else tuple(n for n in kept if n in names),
            writer_features=(
                *(name for name in listed if name in names),
                *sorted(self.writers.difference(listed)),
            ),
        )

    def _complete(self, names: Sequence[str]) -> set[str]:
        """The features whose dependencies are all included. `required` ones always stay."""
        left = set(names)
        while lacking := {
            name
            for name in left.difference(self.required)
            if not left.issuperset(_DEPENDENCIES.get(name, ()))
        }:
            left -= lacking
        return left


def _with_own_lists(protocol: TableProtocol) -> TableProtocol:
    """The protocol without lists that its versions do not have (Delta protocol, "Table Features")."""
    return replace(
        protocol,
        reader_features=protocol.reader_features if protocol.min_reader_version >= 3 else None,
        writer_features=protocol.writer_features if protocol.min_writer_version >= 7 else None,
    )


def answered_properties(metadata: TableMetadata, protocol: TableProtocol) -> dict[str, str]:
    """The table properties of a response, without those whose feature its protocol does not name."""
    names = set(protocol.writer_features or ())
    if protocol.writer_features is None:
        version = protocol.min_writer_version
        legacy = {name for name, since in _LEGACY_WRITERS.items() if since <= version}
        names = {*legacy, *declared_features(protocol)}
    names |= {name.lower() for name in names}
    return {
        name: value
        for name, value in metadata.configuration.items()
        if names.intersection(enabled := _enabled_by(name, value)) or not enabled
    }


def _enabled_by(name: str, value: str) -> tuple[str, ...]:
    """The features of which a property with this value enables one. Empty if it enables none."""
    lowered = name.lower()
    if lowered.startswith(_CONSTRAINTS):
        return ("checkConstraints",)
    if lowered.startswith(_SUPPORTED):
        return (lowered.removeprefix(_SUPPORTED),)
    return () if value.lower() in ("false", _OFF.get(name)) else _PROPERTIES.get(name, ())


def _legacy_writers(metadata: TableMetadata) -> frozenset[str]:
    enabled = {name for item in metadata.configuration.items() for name in _enabled_by(*item)}
    return _column_features(metadata.schema_string).union(enabled & _LEGACY_WRITERS.keys())


@cached_by_text
def _column_features(schema_string: str) -> frozenset[str]:
    keys = {key for field in schema_fields(schema_string) for key in field.get("metadata") or ()}
    return frozenset(feature for key, feature in _COLUMN_METADATA.items() if key in keys)
