"""Makes the schemas in manifests safe for decoding, because they come from untrusted writers.

An array of a million nulls takes three bytes, and a type can contain itself. In both cases, the size
of the file sets no limit. Iceberg's writers write neither (Iceberg specification, "Avro").

Fields without a byte in the file are left out, because an element of an array can have thousands of
them. From the other types follows how much memory each byte of a row can take at the most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_TYPES = 10_000  # each counted as often as it occurs; a manifest's schema has about eighty
_DEEPEST = 12
_SIZED = frozenset(("boolean", "int", "long", "float", "double", "bytes", "string"))
_LONGEST_FIXED = 1 << 16  # bytes
# Memory of a place in a list and in a dictionary, of a dictionary, and of each member of a larger one,
# in bytes. The shortest values of other types are shared; each byte more takes at most
# `_LEAST_EXPANSION`.
_PLACE, _KEY, _DICTIONARY, _MEMBER = 16, 110, 200, 46
_LEAST_EXPANSION = 40
_INTEGER, _TEXT, _BYTES = frozenset(("int", "long")), frozenset(("string",)), frozenset(("bytes",))

# Fields that are read, and their permitted types. Maps are arrays of keys and values.
_COUNTS = {"key": _INTEGER, "value": _INTEGER}
_BOUNDS = {"key": _INTEGER, "value": _BYTES}
_MANIFEST: Mapping[str, Any] = {
    "manifest_path": _TEXT,
    "partition_spec_id": _INTEGER,
    "content": _INTEGER,
    "sequence_number": _INTEGER,
    "added_snapshot_id": _INTEGER,
    "added_files_count": _INTEGER,
    "added_data_files_count": _INTEGER,
    "existing_files_count": _INTEGER,
    "existing_data_files_count": _INTEGER,
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


@dataclass(frozen=True, slots=True)
class RowSchema:
    """The schema of rows, reduced to the parts that decoding needs.

    Attributes:
        expansion: The most memory that elements of its arrays take, for each byte of a row.
    """

    schema: Mapping[str, Any]
    expansion: int


def manifest_list_schema(written: Any) -> RowSchema:
    """Return the schema of a manifest list."""
    return _checked(written, _MANIFEST)


def manifest_schema(written: Any) -> RowSchema:
    """Return the schema of a manifest; see `manifest_list_schema`."""
    return _checked(written, _ENTRY)


def _checked(written: Any, wanted: Mapping[str, Any]) -> RowSchema:
    plain = _Plain()
    kind = plain.type(written, _DEEPEST, nested=False)
    schema = kind.schema
    if not isinstance(schema, dict) or schema["type"] != "record" or kind.empty:
        raise ValueError("the rows of the Avro file are not records")
    _check_fields(schema, wanted)
    return RowSchema(schema, plain.expansion)


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
            raise ValueError(f"field {name} of the Avro file has an unexpected type")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A type.

    Attributes:
        least: The minimum size of its values in a file, in bytes.
        memory: The maximum memory of values of this size, in bytes. Longer values take no more for each
            byte.
    """

    schema: Any
    least: int
    memory: int
    types: int

    @property
    def empty(self) -> bool:
        """Return whether values can take no bytes. Each such type has only one value."""
        return not self.least


@dataclass
class _Plain:
    """Copies the structure of a schema, with names that have no namespaces.

    Logical types are also left out, so that a date that Python can't represent doesn't make a file
    unreadable.
    """

    named: dict[str, _Kind | None] = field(default_factory=dict)
    expansion: int = _LEAST_EXPANSION

    def type(self, written: Any, deepest: int, *, nested: bool) -> _Kind:
        """Return one type. Types in arrays and maps (`nested`) can't contain further ones."""
        if deepest < 0:
            raise ValueError("the Avro file's schema is nested too deeply")
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
            return _Kind(name, 0, 0, 1)
        if name in _SIZED:
            return _Kind(name, 1, 0, 1)
        short = name.rpartition(".")[2]
        known = self.named.get(short)
        if known is None:  # unknown, or a recursive reference
            raise ValueError("the Avro file's schema refers to a type before its definition")
        return _Kind(short, known.least, known.memory, known.types)

    def _union(self, written: list[Any], deepest: int, *, nested: bool) -> _Kind:
        kinds = [self.type(each, deepest - 1, nested=nested) for each in written]
        memory = max((-(-each.memory // (1 + each.least)) for each in kinds), default=0)
        return _Kind([each.schema for each in kinds], 1, memory, _sum(kinds))

    def _record(self, written: Mapping[str, Any], deepest: int, *, nested: bool) -> _Kind:
        name, fields = self._define(written), written["fields"]
        kinds = [self.type(each["type"], deepest - 1, nested=nested) for each in fields]
        kept = [(each, kind) for each, kind in zip(fields, kinds, strict=True) if not kind.empty]
        schema = {
            "type": "record",
            "name": name,
            "fields": [{"name": str(each["name"]), "type": kind.schema} for each, kind in kept],
        }
        least = sum(kind.least for kind in kinds)
        memory = max(_DICTIONARY, _MEMBER * len(kept)) + sum(kind.memory for _, kind in kept)
        # A name refers to the earlier definition; the definition itself occurs once.
        found = self.named[name] = _Kind(schema, least, memory, _sum(kinds))
        return found

    def _many(self, written: Mapping[str, Any], kind: str, deepest: int, *, nested: bool) -> _Kind:
        if nested:
            raise ValueError("the Avro file's schema has arrays in arrays")
        key = "items" if kind == "array" else "values"
        items = self.type(written[key], deepest - 1, nested=True)
        if items.empty:
            raise ValueError("the Avro file's schema has an array whose elements take no bytes")
        place, least = (_PLACE, items.least) if kind == "array" else (_KEY, 1 + items.least)
        self.expansion = max(self.expansion, -(-(place + items.memory) // least))
        return _Kind({"type": kind, key: items.schema}, 1, _DICTIONARY, _sum([items]))

    def _leaf(self, written: Mapping[str, Any], kind: str) -> _Kind:
        name = self._define(written)
        schema: dict[str, Any] = {"type": kind, "name": name}
        if kind == "enum":
            schema["symbols"] = [str(each) for each in written["symbols"]]
        else:
            schema["size"] = int(written["size"])
            if not 1 <= schema["size"] <= _LONGEST_FIXED:
                raise ValueError("the Avro file's schema has a type with an invalid size")
        found = self.named[name] = _Kind(schema, 1, 0, 1)
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
