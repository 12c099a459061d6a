"""Writes random tables with delta-rs, and varies what its log says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from support.filters.generate import RandomTable

Action = dict[str, Any]

_CUT = 32  # characters that Spark keeps of a string in statistics
_TIE_BREAKERS = ("\ufffd", "\U0010ffff")


def write_table(table: RandomTable, folder: Path) -> None:
    """Write a table, one commit after the other."""
    names = physical_names(table)
    schema = pa.schema([(names[column.name], column.kind.arrow) for column in table.columns])
    partitions = [names[column.name] for column in table.columns if column.is_partition]
    for rows in table.commits:
        renamed = [{names[name]: value for name, value in row.items()} for row in rows]
        found = pa.Table.from_pylist(renamed, schema)
        write_deltalake(folder, found, mode="append", partition_by=partitions or None)
    rng = Random(table.seed)
    for path in sorted((folder / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        edited = [_edited(table, rng, action) for action in actions]
        path.write_text("".join(f"{json.dumps(action)}\n" for action in edited))


def physical_names(table: RandomTable) -> dict[str, str]:
    """The names of columns in the files, by their names."""
    places = enumerate(table.columns)
    return {each.name: f"col-{place}" if table.mapped else each.name for place, each in places}


def _edited(table: RandomTable, rng: Random, action: Action) -> Action:
    match action:
        case {"add": added} if added.get("stats"):
            return {"add": added | {"stats": _stats(rng, added["stats"])}}
        case {"metaData": metadata} if table.mapped:
            return {"metaData": metadata | _mapped_metadata(table, metadata)}
        case {"protocol": protocol} if table.mapped:
            return {"protocol": _mapped_protocol(protocol)}
    return action


def _stats(rng: Random, text: str) -> str | None:
    """The statistics as they are, as Spark cuts them off, without bounds, or not at all."""
    chance = rng.random()
    if chance < 0.1:
        return None
    stats = json.loads(text)
    if chance < 0.2:
        stats = {name: stats[name] for name in ("numRecords", "nullCount")}
    elif chance < 0.6:
        tie_breaker = rng.choice(_TIE_BREAKERS)
        stats["minValues"] = _each_text(stats["minValues"], lambda value: value[:_CUT])
        stats["maxValues"] = _each_text(
            stats["maxValues"], lambda value: _cut_maximum(value, tie_breaker)
        )
    return json.dumps(stats)


def _each_text(bounds: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """No other bounds are so long that they are cut off."""
    return {name: change(value) if isinstance(value, str) else value for name, value in bounds.items()}


def _cut_maximum(value: str, tie_breaker: str) -> str:
    """As older or newer versions of Delta Lake cut it. Older ones ignore larger characters."""
    if len(value) <= _CUT:
        return value
    prefix = value[:_CUT]
    while value[len(prefix) :].startswith("\U0010ffff") and tie_breaker == "\U0010ffff":
        prefix += tie_breaker
    return prefix + tie_breaker


def _mapped_metadata(table: RandomTable, metadata: Mapping[str, Any]) -> Action:
    """The metadata as if the columns had always had these names (Delta protocol, "Column Mapping")."""
    logical = {physical: name for name, physical in physical_names(table).items()}
    schema = json.loads(metadata["schemaString"])
    for number, field in enumerate(schema["fields"], start=1):
        field["metadata"] = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": field["name"],
        }
        field["name"] = logical[field["name"]]
    return {
        "schemaString": json.dumps(schema),
        "partitionColumns": [logical[name] for name in metadata["partitionColumns"]],
        "configuration": {
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": str(len(table.columns)),
        },
    }


def _mapped_protocol(protocol: Mapping[str, Any]) -> Action:
    if "readerFeatures" not in protocol:
        return {"minReaderVersion": 2, "minWriterVersion": 5}
    features = {
        name: [*protocol[name], "columnMapping"] for name in ("readerFeatures", "writerFeatures")
    }
    return {**protocol, **features}
