"""Schemas of manifests, made safe to decode by: whoever writes a table chooses them.

An array of a million nulls takes three bytes, and a type may hold itself: neither has an end that the
size of a file would set. What Iceberg's writers write has neither (Iceberg specification, "Avro").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_TYPES = 10_000  # each counted as often as it occurs; a schema of manifests has some eighty
_DEEPEST = 12
_SIZED = frozenset(("boolean", "int", "long", "float", "double", "bytes", "string"))
_LONGEST_FIXED = 1 << 16  # bytes
_INTEGER, _TEXT, _BYTES = frozenset(("int", "long")), frozenset(("string",)), frozenset(("bytes",))

# What is read of rows: the types that a field may have; maps are arrays of keys and values.
_COUNTS = {"key": _INTEGER, "value": _INTEGER}
_BOUNDS = {"key": _INTEGER, "value": _BYTES}
_MANIFEST: Mapping[str, Any] = {
    "manifest_path": _TEXT,
    "content": _INTEGER,
    "sequence_number": _INTEGER,
    "added_snapshot_id": _INTEGER,
}
_ENTRY: Mapping[str, Any] = {
    "status": _INTEGER,
    "snapshot_id": _INTEGER,
    "sequence_number": _INTEGER,
    "data_file": {
        "content": _INTEGER,
        "file_path": _TEXT,
        "file_format": _TEXT,
        "record_count": _INTEGER,
        "file_size_in_bytes": _INTEGER,
        "null_value_counts": _COUNTS,
        "nan_value_counts": _COUNTS,
        "lower_bounds": _BOUNDS,
        "upper_bounds": _BOUNDS,
        "key_metadata": _BYTES,
        "referenced_data_file": _TEXT,
        "content_offset": _INTEGER,
        "content_size_in_bytes": _INTEGER,
    },
}


def manifest_list_schema(written: Any) -> dict[str, Any]:
    """The schema of a manifest list, without what decoding does not need.

    Raises:
        ValueError: It is not one that Iceberg's writers could write.
    """
    return _checked(written, _MANIFEST)


def manifest_schema(written: Any) -> dict[str, Any]:
    """The schema of a manifest; as `manifest_list_schema`."""
    return _checked(written, _ENTRY)


def _checked(written: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    kind = _Plain().type(written, _DEEPEST, nested=False)
    schema = kind.schema
    if not isinstance(schema, dict) or schema["type"] != "record" or kind.empty:
        raise ValueError("the rows of the Avro file are no records")
    _check_fields(schema, wanted)
    return schema


def _check_fields(record: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for each in record["fields"]:
        if (kinds := wanted.get(each["name"])) is not None:
            _check_field(each["name"], each["type"], kinds)


def _check_field(name: str, type_: Any, kinds: Any) -> None:
    for variant in type_ if isinstance(type_, list) else [type_]:
        if isinstance(kinds, Mapping):
            record = variant.get("items", variant) if isinstance(variant, dict) else variant
            if isinstance(record, dict) and record["type"] == "record":
                _check_fields(record, kinds)
                continue
        elif isinstance(variant, str) and variant in kinds:
            continue
        if variant != "null":
            raise ValueError(f"field {name} of the Avro file is of another type than it must be")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A type, what a value of it takes at least, and how many types it consists of."""

    schema: Any
    empty: bool
    types: int


@dataclass
class _Plain:
    """Copies a schema: names are without namespaces, and there is nothing but structure.

    Logical types are left out, too: a date that Python does not know is no reason to refuse a file.
    """

    named: dict[str, _Kind | None] = field(default_factory=dict)

    def type(self, written: Any, deepest: int, *, nested: bool) -> _Kind:
        """One type; `nested` ones are in an array or a map, and hold no other ones."""
        if deepest < 0:
            raise ValueError("the Avro file's schema is nested too deep")
        if isinstance(written, str):
            return self._of_name(written)
        if isinstance(written, list):
            return self._union(written, deepest, nested=nested)
        if not isinstance(written, dict):
            raise ValueError("the Avro file's schema is broken")
        kind = written.get("type")
        if kind == "record":
            return self._record(written, deepest, nested=nested)
        if kind in ("array", "map"):
            return self._many(written, kind, deepest, nested=nested)
        if kind in ("fixed", "enum"):
            return self._leaf(written, kind)
        return self.type(kind, deepest - 1, nested=nested)

    def _of_name(self, name: str) -> _Kind:
        if name == "null":
            return _Kind(name, True, 1)
        if name in _SIZED:
            return _Kind(name, False, 1)
        short = name.rpartition(".")[2]
        known = self.named.get(short)
        if known is None:  # not known, or the reference is inside of it
            raise ValueError("the Avro file's schema names a type that it does not define before")
        return _Kind(short, known.empty, known.types)

    def _union(self, written: list[Any], deepest: int, *, nested: bool) -> _Kind:
        kinds = [self.type(each, deepest - 1, nested=nested) for each in written]
        return _Kind([each.schema for each in kinds], False, _sum(kinds))

    def _record(self, written: Mapping[str, Any], deepest: int, *, nested: bool) -> _Kind:
        name, fields = self._define(written), written["fields"]
        kinds = [self.type(each["type"], deepest - 1, nested=nested) for each in fields]
        schema = {
            "type": "record",
            "name": name,
            "fields": [
                {"name": str(each["name"]), "type": kind.schema}
                for each, kind in zip(fields, kinds, strict=True)
            ],
        }
        # A name stands for what it was defined as; the definition itself occurs once.
        found = self.named[name] = _Kind(schema, all(each.empty for each in kinds), _sum(kinds))
        return found

    def _many(self, written: Mapping[str, Any], kind: str, deepest: int, *, nested: bool) -> _Kind:
        if nested:
            raise ValueError("the Avro file's schema has arrays in arrays")
        key = "items" if kind == "array" else "values"
        items = self.type(written[key], deepest - 1, nested=True)
        if items.empty:
            raise ValueError("the Avro file's schema has an array of what takes no bytes")
        return _Kind({"type": kind, key: items.schema}, False, _sum([items]))

    def _leaf(self, written: Mapping[str, Any], kind: str) -> _Kind:
        name = self._define(written)
        schema: dict[str, Any] = {"type": kind, "name": name}
        if kind == "enum":
            schema["symbols"] = [str(each) for each in written["symbols"]]
        else:
            schema["size"] = int(written["size"])
            if not 1 <= schema["size"] <= _LONGEST_FIXED:
                raise ValueError("the Avro file's schema has values of a size that makes no sense")
        found = self.named[name] = _Kind(schema, False, 1)
        return found

    def _define(self, written: Mapping[str, Any]) -> str:
        name = str(written["name"]).rpartition(".")[2]
        if name in self.named:
            raise ValueError("the Avro file's schema defines a type twice")
        self.named[name] = None
        return name


def _sum(kinds: Iterable[_Kind]) -> int:
    types = 1 + sum(each.types for each in kinds)
    if types > _MOST_TYPES:
        raise ValueError("the Avro file's schema has too many types")
    return types
