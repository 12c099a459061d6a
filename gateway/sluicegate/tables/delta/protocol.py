"""Protocol and metadata actions, and what of them this reader understands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate.errors import TableUnreadable
from sluicegate.tables.delta.shape import checked_schema, optional, text_map, texts
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

# Delta protocol, "Valid Feature Names in Table Features", and the previews of those features.
READER_FEATURES = frozenset(
    {
        "catalogManaged",
        "catalogOwned-preview",
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)
CATALOG_FEATURES = frozenset({"catalogManaged", "catalogOwned-preview"})
_MAX_READER_VERSION = 3
_NO_FIELDS = '{"type":"struct","fields":[]}'


def protocol_of(action: Mapping[str, Any]) -> TableProtocol:
    """The value of a `protocol` action (Delta protocol, "Protocol Evolution")."""
    return TableProtocol(
        min_reader_version=int(action["minReaderVersion"]),
        min_writer_version=int(action["minWriterVersion"]),
        reader_features=_features(action.get("readerFeatures")),
        writer_features=_features(action.get("writerFeatures")),
    )


def metadata_of(action: Mapping[str, Any]) -> TableMetadata:
    """The value of a `metaData` action (Delta protocol, "Change Metadata").

    Raises:
        ValueError, KeyError, TypeError, AttributeError: Something in it has not the protocol's shape.
    """
    file_format = action.get("format") or {}
    return TableMetadata(
        id=optional(action["id"], str) or "",
        schema_string=checked_schema(action.get("schemaString") or _NO_FIELDS),
        partition_columns=texts(action.get("partitionColumns") or []),
        configuration=text_map(action.get("configuration") or {}),
        name=optional(action.get("name"), str),
        description=optional(action.get("description"), str),
        provider=optional(file_format.get("provider"), str) or "parquet",
        format_options=text_map(file_format.get("options") or {}),
        created_time=optional(action.get("createdTime"), int),
    )


def check_readable(protocol: TableProtocol, *, by_catalog: bool) -> None:
    """Refuse what a reader of this version must not touch.

    Args:
        protocol: Of the version to read.
        by_catalog: The catalog said which commits count (`CatalogTable.latest_version`).

    Raises:
        TableUnreadable: The reader version or a reader feature is unknown (it is named), or the table
            belongs to a catalog that was not asked.
    """
    if not 1 <= protocol.min_reader_version <= _MAX_READER_VERSION:
        raise TableUnreadable(
            f"the table needs Delta reader version {protocol.min_reader_version}; "
            f"the gateway reads versions 1 to {_MAX_READER_VERSION}"
        )
    features = frozenset(protocol.reader_features or ())
    if unknown := sorted(features - READER_FEATURES):
        raise TableUnreadable(
            f"the table needs Delta reader features unknown to the gateway: {', '.join(unknown)}"
        )
    if features & CATALOG_FEATURES and not by_catalog:
        raise TableUnreadable(
            "the table is managed by its catalog, which alone knows its commits: "
            "it has to be shared from that catalog, not by its path"
        )


def _features(names: Any) -> tuple[str, ...] | None:
    return None if names is None else texts(names)
