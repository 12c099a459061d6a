"""The partitions of a manifest's data files, as texts (see `IcebergDeclaration`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from sluicegate.api import Budget
from sluicegate_iceberg.format.manifests.avro import AvroFile
from sluicegate_iceberg.format.manifests.manifest_files import Manifest
from sluicegate_iceberg.format.metadata.partitioning import SpecField

SPEC: Final = "spec-id"
"""The key of the spec's id; see `IcebergDeclaration`."""

PartitionText = Callable[[Mapping[str, Any]], str]
"""Returns the text of the partition of a `data_file`."""


def unpartitioned(_: Mapping[str, Any]) -> str:
    """Return the text of files whose partitions are unknown."""
    return "{}"


def partition_texts(
    manifest: Manifest,
    data: bytes,
    budget: Budget,
    specs: Mapping[int, Sequence[SpecField]],
) -> PartitionText:
    """Return what describes the partitions of a manifest's files."""
    file, spec_id = None, manifest.spec_id
    if spec_id is None:  # old tables have no manifest list
        file = AvroFile(data, manifest.called, budget)
        spec_id = int(file.headers.get("partition-spec-id", b"0"))
    fields = specs.get(spec_id)
    if fields is None:
        return unpartitioned
    first = str(spec_id)
    if not fields:  # nothing to look up in the manifest
        only = _dumps({SPEC: first})
        return lambda _: only
    file = file or AvroFile(data, manifest.called, budget)
    names = {id_: name for id_, name in _names(file.json("avro.schema")) if id_ is not None}
    if any(field.id not in names for field in fields):
        return unpartitioned  # only ids say which value is which field's
    keys = [(field.key, names[field.id]) for field in fields]

    def of(file: Mapping[str, Any]) -> str:
        values = file.get("partition") or {}
        return _dumps({SPEC: first, **{key: _text(values.get(name)) for key, name in keys}})

    return of


def _dumps(partition: Mapping[str, str | None]) -> str:
    return orjson.dumps(partition).decode()


def _names(schema: Any) -> Iterator[tuple[object, str]]:
    """Return ids and names of partition fields in a manifest's Avro schema."""
    [file] = [each["type"] for each in schema["fields"] if each["name"] == "data_file"]
    for each in file["fields"]:
        if each["name"] == "partition":
            for field in each["type"]["fields"]:
                yield field.get("field-id"), str(field["name"])


def _text(value: Any) -> str | None:
    """Return a value without its type, because logical types are not decoded."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise ValueError("a partition value is not of a primitive type")
