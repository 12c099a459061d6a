"""The features required to read a range of versions whose protocol and metadata change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson

from sluicegate.tables.changes import TableState
from sluicegate.tables.features import FeatureNeeds, declared_features, needs_of
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

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
