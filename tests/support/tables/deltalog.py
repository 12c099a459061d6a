"""Delta logs written by hand: every layout that a writer may leave behind."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from obstore.store import LocalStore

from sluicegate.api import CatalogTable, ObjectDirectory

Action = dict[str, Any]

SCHEMA = json.dumps(
    {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
)
TEXT_MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
ADD = {
    "path": pa.string(),
    "partitionValues": TEXT_MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
    "stats": pa.string(),
    "tags": TEXT_MAP,
    "deletionVector": VECTOR,
}
OTHERS = {
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": pa.list_(pa.string()),
            "writerFeatures": pa.list_(pa.string()),
        }
    ),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": TEXT_MAP}),
            "schemaString": pa.string(),
            "partitionColumns": pa.list_(pa.string()),
            "configuration": TEXT_MAP,
            "createdTime": pa.int64(),
        }
    ),
    "remove": pa.struct(
        {"path": pa.string(), "deletionTimestamp": pa.int64(), "dataChange": pa.bool_()}
    ),
    "checkpointMetadata": pa.struct({"version": pa.int64()}),
    "sidecar": pa.struct(
        {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64()}
    ),
}


def protocol(reader: int = 1, *features: str) -> Action:
    """A `protocol` action; with features it is one of reader version 3."""
    if not features:
        return {"protocol": {"minReaderVersion": reader, "minWriterVersion": 2}}
    names = list(features)
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": names,
            "writerFeatures": names,
        }
    }


def metadata(table_id: str = "t", partitioned_by: Sequence[str] = (), **configuration: str) -> Action:
    """A `metaData` action; in names of properties `__` stands for a dot.

    The schema has a column `id`, and a column of texts for each other partition column.
    """
    schema = json.loads(SCHEMA)
    schema["fields"] += [
        {"name": name, "type": "string", "nullable": True, "metadata": {}}
        for name in dict.fromkeys(partitioned_by)
        if name.casefold() != "id"
    ]
    return {
        "metaData": {
            "id": table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema) if partitioned_by else SCHEMA,
            "partitionColumns": list(partitioned_by),
            "configuration": {name.replace("__", "."): value for name, value in configuration.items()},
            "createdTime": 1,
        }
    }


def add(path: str, **values: Any) -> Action:
    """An `add` action of a file of ten bytes."""
    return {
        "add": {
            "path": path,
            "partitionValues": {},
            "size": 10,
            "modificationTime": 5,
            "dataChange": True,
            **values,
        }
    }


def remove(path: str, **values: Any) -> Action:
    """A `remove` action."""
    return {"remove": {"path": path, "deletionTimestamp": 6, "dataChange": True, **values}}


def vector(name: str, offset: int | None = 1) -> Action:
    """A deletion vector's descriptor."""
    return {
        "storageType": "u",
        "pathOrInlineDv": name,
        "offset": offset,
        "sizeInBytes": 34,
        "cardinality": 2,
    }


@dataclass(frozen=True)
class DeltaFolder:
    """A table in a local folder, written action by action."""

    root: Path

    @property
    def log(self) -> Path:
        """Its `_delta_log`."""
        return self.root / "_delta_log"

    @property
    def directory(self) -> ObjectDirectory:
        """The table, opened for reading."""
        return ObjectDirectory(LocalStore(prefix=str(self.root.parent)), self.root.name)

    def table(self, **values: Any) -> CatalogTable:
        """What a catalog says of it."""
        return CatalogTable(id="t", format="delta", location=f"file://{self.root}", **values)

    def commit(self, version: int, *actions: Action, modified: int | None = None) -> Path:
        """Write a commit; `modified` in epoch milliseconds."""
        return self.lines(f"{version:020}.json", actions, modified)

    def compaction(self, first: int, last: int, *actions: Action) -> Path:
        """Write a log compaction."""
        return self.lines(f"{first:020}.{last:020}.compacted.json", actions)

    def lines(self, name: str, actions: Sequence[Action], modified: int | None = None) -> Path:
        """Write a file of JSON actions."""
        path = self.log / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
        if modified is not None:
            os.utime(path, ns=(modified * 1_000_000, modified * 1_000_000))
        return path

    def parquet(
        self,
        name: str,
        actions: Sequence[Action],
        add_fields: Mapping[str, pa.DataType] = ADD,
        *,
        group: int = 2,
        **options: Any,
    ) -> Path:
        """Write a file of Parquet actions, so many in each row group; `options` are PyArrow's."""
        schema = pa.schema({**OTHERS, "add": pa.struct(add_fields)})
        rows = [
            {kind: _pairs(value, schema.field(kind).type) for kind, value in row.items()}
            for row in actions
        ]
        path = self.log / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=group, **options)
        return path

    def sidecars(self, *parts: Sequence[Action], stem: str = "part ") -> list[Action]:
        """Write sidecars, whose names are a stem and a number; the actions that refer to them."""
        actions = []
        for number, part in enumerate(parts):
            path = self.parquet(f"_sidecars/{stem}{number}.parquet", part)
            uri = path.name.replace(" ", "%20")
            actions.append(
                {"sidecar": {"path": uri, "sizeInBytes": path.stat().st_size, "modificationTime": 1}}
            )
        return actions

    def hint(self, text: str) -> None:
        """Write `_last_checkpoint`."""
        (self.log / "_last_checkpoint").write_text(text)


def _pairs(value: Any, kind: pa.DataType) -> Any:
    """A JSON value with its maps as the pairs that Arrow takes."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return list(value.items())
    if pa.types.is_struct(kind):
        return {field.name: _pairs(value.get(field.name), field.type) for field in kind}
    return value
