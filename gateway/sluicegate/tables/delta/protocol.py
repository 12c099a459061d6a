"""Protocol and metadata actions, and which of them this reader supports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.delta.shape import checked_schema, optional, text_map, texts
from sluicegate.tables.features import READER_FEATURES, column_names, primitive_types
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

VOID = ("void", "null")  # Spark before 3.0 wrote the second one
_PARTS = ("elementType", "keyType", "valueType")


def without_void(schema_string: str) -> str:
    """The schema without columns and fields of structs that have the type `void`.

    Lists and maps of this type stay, because no reader of Delta tables accepts them.
    """
    if not any(f'"{name}"' in schema_string for name in VOID):
        return schema_string
    schema = orjson.loads(schema_string)
    kept = {**schema, "fields": _fields(schema)}
    return schema_string if kept == schema else orjson.dumps(kept).decode()


def _kept(kind: Any) -> Any:
    """A type without its void fields. `void` if no other field of a struct is left."""
    if not isinstance(kind, Mapping):
        return VOID[0] if kind in VOID else kind
    if kind["type"] != "struct":
        return {**kind, **{part: _kept(kind[part]) for part in _PARTS if part in kind}}
    fields = _fields(kind)
    return {**kind, "fields": fields} if fields or not kind["fields"] else VOID[0]


def _fields(struct: Mapping[str, Any]) -> list[dict[str, Any]]:
    fields = [{**field, "type": _kept(field["type"])} for field in struct["fields"]]
    return [field for field in fields if field["type"] != VOID[0]]


CATALOG_FEATURES = frozenset({"catalogManaged", "catalogOwned-preview"})

_MAX_READER_VERSION = 3
_MAX_SHOWN = 100
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
    """The value of a `metaData` action (Delta protocol, "Change Metadata"), without void columns."""
    file_format = action.get("format") or {}
    return TableMetadata(
        id=optional(action["id"], str) or "",
        schema_string=without_void(checked_schema(action.get("schemaString") or _NO_FIELDS)),
        partition_columns=texts(action.get("partitionColumns") or []),
        configuration=text_map(action.get("configuration") or {}),
        name=optional(action.get("name"), str),
        description=optional(action.get("description"), str),
        provider=optional(file_format.get("provider"), str) or "parquet",
        format_options=text_map(file_format.get("options") or {}),
        created_time=optional(action.get("createdTime"), int),
    )


def needed(
    protocol: TableProtocol | None, metadata: TableMetadata | None, since: int | None
) -> tuple[TableProtocol, TableMetadata]:
    """The protocol and the metadata of a version, which must be in its checkpoint or in later commits.

    Commits before the checkpoint do not count, even if they still exist (docs/adr/0001).
    """
    if protocol is not None and metadata is not None:
        return protocol, metadata
    what = "protocol" if protocol is None else "metadata"
    if since is None:
        raise TableUnreadable(
            f"the Delta log has no {what} action: the table was not written completely"
        )
    raise TableUnreadable(
        f"the Delta log has no {what} action in its checkpoint of version {since} or in later "
        "commits: restore the checkpoint, or remove it if the log still has all commits"
    )


def check_readable(protocol: TableProtocol, *, by_catalog: bool) -> None:
    """Reject what a reader of this version must not read."""
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
            "the table is managed by its catalog, and only the catalog knows its commits: "
            "share it from that catalog, not by its path"
        )


def check_shareable(metadata: TableMetadata) -> None:
    """Reject tables whose files or columns no recipient can read."""
    if metadata.provider.lower() != "parquet":
        raise TableUnreadable(
            f"the table's metadata says that its files are {metadata.provider!r}: only tables of "
            "Parquet files can be shared"
        )
    if not primitive_types(metadata.schema_string).isdisjoint(VOID):
        raise TableUnreadable(
            "the table has a list or map of the type void, which recipients cannot read: its owner "
            "must give the column another type, or drop it"
        )
    columns = column_names(metadata.schema_string)
    for name in metadata.partition_columns:
        if name.casefold() not in columns:
            raise TableUnreadable(
                f"the table is partitioned by a column that its schema lacks, '{name[:_MAX_SHOWN]}': "
                "its owner must correct the table's metadata"
            )


def _features(names: Any) -> tuple[str, ...] | None:
    return None if names is None else texts(names)
