"""Tables as Iceberg clients see them, without a log or a store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import orjson
from support.gateways.memory_gateway import memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.memory_tables import PROTOCOL
from support.tables.predicate_trees import Compare, IsNull, Junction, Not, Tree

from sluicegate.api import Principal, SharedTable
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.iceberg.shape import Field, IcebergShape, PartitionField, Struct, Type
from sluicegate.tables.snapshot import FileSet, Snapshot, TableMetadata

PREFIX = "s3://SG/proof/"
_TYPES = {
    "byte": "int",
    "short": "int",
    "integer": "int",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_OPS = {
    "equal": "eq",
    "lessThan": "lt",
    "lessThanOrEqual": "lt-eq",
    "greaterThan": "gt",
    "greaterThanOrEqual": "gt-eq",
}
_NUMBERS = ("byte", "short", "integer", "long", "float", "double")


class Prefixed:
    """Names files for clients by a prefix."""

    def of(self, paths: Sequence[str]) -> list[str]:
        """The prefixed paths."""
        return [PREFIX + path for path in paths]


def iceberg_shape(metadata: TableMetadata) -> IcebergShape:
    """The shape of a Delta table whose columns are numbered in their order."""
    mapped = metadata.configuration.get("delta.columnMapping.mode", "none") != "none"
    ids = iter(range(1, 10_000))
    schema = Struct(tuple(_fields(json.loads(metadata.schema_string), ids, mapped)))
    by_name = {field.name: field for field in schema.fields}
    parts = tuple(
        PartitionField(1000 + place, by_name[name], by_name[name].physical_name)
        for place, name in enumerate(metadata.partition_columns)
    )
    return IcebergShape(schema, parts, next(ids) - 1, 3)


def _fields(struct: Mapping[str, Any], ids: Any, mapped: bool) -> list[Field]:
    found = []
    for field in struct["fields"]:
        number, kind = next(ids), field["type"]
        inner: Type = _TYPES.get(kind, kind) if isinstance(kind, str) else ""
        if not isinstance(kind, str):
            inner = Struct(tuple(_fields(kind, ids, mapped)))
        physical = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
        name = field["name"]
        found.append(Field(number, name, inner, physical if mapped else name))
    return found


async def iceberg_view(
    metadata: TableMetadata,
    files: FileSet,
    *,
    version: int = 4,
    principal: Principal = ACME,
    shared: SharedTable | None = None,
) -> IcebergView:
    """A table at a version with these files, all of them visible."""
    table = await memory_gateway().open(shared or shared_table(), principal)
    snapshot = Snapshot(version, 0, PROTOCOL, metadata, files)
    return IcebergView(table, snapshot, files, iceberg_shape(metadata), Prefixed())


async def body(parts: AsyncIterator[bytes]) -> dict[str, Any]:
    """A response that was made in parts."""
    content: dict[str, Any] = orjson.loads(b"".join([part async for part in parts]))
    return content


def paths(response: Mapping[str, Any]) -> list[str]:
    """The paths of the data files of a response, without their prefix."""
    tasks = response["file-scan-tasks"]
    return [task["data-file"]["file-path"].removeprefix(PREFIX) for task in tasks]


def iceberg_filter(tree: Tree) -> Any:
    """A predicate as expression JSON."""
    match tree:
        case Compare():
            kind = tree.column.kind
            value = tree.literal if kind.delta in _NUMBERS else _text(tree)
            value = tree.literal if kind.delta == "boolean" else value
            return {"type": _OPS[tree.op], "term": ".".join(tree.column.path), "value": value}
        case IsNull():
            return {"type": "is-null", "term": ".".join(tree.column.path)}
        case Not(Compare(op="equal") as child):  # `not` of `eq` is null-safe
            return {**iceberg_filter(child), "type": "not-eq"}
        case Not():
            return {"type": "not", "child": iceberg_filter(tree.child)}
        case Junction():
            first, *others = map(iceberg_filter, tree.children)
            for other in others:
                first = {"type": tree.op, "left": first, "right": other}
            return first
    raise TypeError(tree)


def _text(tree: Compare) -> str:
    value = tree.literal
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
