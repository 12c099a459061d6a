"""Manifest lists and manifests whose schemas have more than Iceberg's, and whose arrays are long."""

from __future__ import annotations

import copy
import random
import zlib
from collections.abc import Mapping
from typing import Any

from support.fuzz.grammars.sizes import many
from support.tables.iceberg_by_hand import ENTRY_SCHEMA, LIST_SCHEMA, avro_file, long_text

_LEAVES = ("null", "null", "boolean", "int", "long", "float", "double", "bytes", "string")
_MOST = 1 << 20  # bytes of a block
_TEXTS = (b"", b"a", b"parquet", b"file:///t/data/1.parquet", "\U0001f600".encode(), b"\0" * 300)


def manifest_list(dice: random.Random) -> bytes:
    """A manifest list."""
    return _file(LIST_SCHEMA, dice)


def manifest(dice: random.Random) -> bytes:
    """A manifest."""
    return _file(ENTRY_SCHEMA, dice)


def _file(usual: Mapping[str, Any], dice: random.Random) -> bytes:
    schema = _extended(copy.deepcopy(dict(usual)), dice, _Names())
    row = _value(schema, dice, {})
    rows = many(dice, max(1, min(1 << 12, _MOST // (len(row) + 1))))
    declared = rows if dice.random() < 0.9 else many(dice, 1 << 40)
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    block = deflate.compress(row * rows) + deflate.flush()
    return avro_file(schema, declared, block)


class _Names:
    """Unique names of types."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self) -> str:
        self._last += 1
        return f"t{self._last}"


def _extended(record: dict[str, Any], dice: random.Random, name: _Names) -> dict[str, Any]:
    """The record with further fields, and sometimes with another type of a field."""
    fields = record["fields"]
    for each in fields:
        inner = each["type"]
        if isinstance(inner, dict) and inner["type"] == "record":
            _extended(inner, dice, name)
        elif dice.random() < 0.03:
            each["type"] = _type(dice, 0, name)
    for _ in range(dice.randint(0, 2)):
        added = {"name": name(), "type": _type(dice, 0, name)}
        if dice.random() < 0.3:
            added["name"] = dice.choice(["partition", "split_offsets", "lower_bounds", "partitions"])
        fields.insert(dice.randint(0, len(fields)), added)
    return record


def _type(dice: random.Random, depth: int, name: _Names) -> Any:
    kind = dice.choice(["array", "array", "record", "union", "map", "leaf", "fixed"])
    if depth > 4 or kind == "leaf":
        return dice.choice(_LEAVES)
    if kind == "fixed":
        return {"type": "fixed", "name": name(), "size": dice.choice([0, 1, 16, 1 << 16])}
    if kind == "union":
        return ["null", _type(dice, depth + 1, name)]
    if kind == "record":
        fields = [
            {"name": name(), "type": _type(dice, depth + 1, name)} for _ in range(dice.randint(0, 3))
        ]
        nothing = many(dice, 1 << 9)
        fields += [{"name": name(), "type": dice.choice(_LEAVES[:3])} for _ in range(nothing)]
        return {"type": "record", "name": name(), "fields": fields}
    return {"type": kind, "items" if kind == "array" else "values": _type(dice, depth + 1, name)}


def _value(type_: Any, dice: random.Random, named: dict[str, Any]) -> bytes:
    if isinstance(type_, list):
        chosen = dice.randrange(len(type_))
        return long_text(chosen) + _value(type_[chosen], dice, named)
    if isinstance(type_, dict):
        return _structured(type_, dice, named)
    if type_ in ("bytes", "string"):
        text = dice.choice(_TEXTS)
        return long_text(len(text)) + text
    if type_ in ("int", "long"):
        return long_text(dice.choice([0, 1, 2, 1000, -1, 1 << 40]))
    return {"null": b"", "boolean": b"\1", "float": bytes(4), "double": bytes(8)}[type_]


def _structured(type_: dict[str, Any], dice: random.Random, named: dict[str, Any]) -> bytes:
    if type_["type"] == "fixed":
        return bytes(type_["size"])
    if type_["type"] == "record":
        return b"".join(_value(each["type"], dice, named) for each in type_["fields"])
    item = _value(type_.get("items", type_.get("values")), dice, named)
    if type_["type"] == "map":
        item = b"\2a" + item
    count = many(dice, max(1, min(1 << 17, _MOST // (len(item) + 1))))
    return (long_text(count) + item * count if count else b"") + b"\0"
