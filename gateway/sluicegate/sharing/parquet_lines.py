"""Lines of delta-sharing-protocol.md, "API Response Actions in Parquet Format"."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
import pyarrow as pa

from sluicegate.api import Presigned
from sluicegate.sharing.lines import (
    At,
    TableTotals,
    escape,
    expiration,
    file_ids,
    line,
    optional,
    present,
    travelled,
)
from sluicegate.sharing.values import integers, texts
from sluicegate.tables.snapshot import TableMetadata

_MAPPING = "delta.columnMapping."


def protocol() -> bytes:
    """The protocol line; the version of this format always is 1 ("Protocol")."""
    return line({"protocol": {"minReaderVersion": 1}})


def metadata(
    table: TableMetadata,
    *,
    totals: TableTotals | None = None,
    version: int | None = None,
    access: Mapping[str, Any] | None = None,
) -> bytes:
    """The metadata line ("Metadata").

    `version` is given in answers to time travel, `access` where directory access is offered.
    """
    feed = table.configuration.get("delta.enableChangeDataFeed")
    value = present(
        id=table.id,
        name=table.name,
        description=table.description,
        format={"provider": table.provider},
        schemaString=plain_schema(table.parquet_schema_string or table.schema_string),
        partitionColumns=list(table.partition_columns),
        configuration={"enableChangeDataFeed": feed} if feed == "true" else {},
        version=version,
        size=totals and totals.size,
        numFiles=totals and totals.files,
        **(access or {}),
    )
    return line({"metaData": value})


def files(batch: pa.Table, presigned: Presigned, at: At | None = None, hash_name: str = "md5") -> bytes:
    """A line for each file ("File").

    Args:
        batch: Rows of `FILE_SCHEMA`.
        presigned: Their URLs, in the same order.
        at: The version asked for by time travel.
        hash_name: `md5` or `sha256` of the path makes the id.
    """
    tail = travelled(at) + expiration(presigned) + "}}\n"
    rows = zip(
        escape(presigned.urls),
        file_ids(texts(batch.column("path")), hash_name),
        texts(batch.column("partition_values")),
        integers(batch.column("size")),
        optional(texts(batch.column("stats")), "stats"),
        strict=True,
    )
    return "".join(
        f'{{"file":{{"url":{url},"id":"{id}","partitionValues":{partition},"size":{size}{stats}{tail}'
        for url, id, partition, size, stats in rows
    ).encode()


@lru_cache(maxsize=256)
def plain_schema(schema_string: str) -> str:
    """The schema without column-mapping metadata, which this format cannot honour."""
    if _MAPPING not in schema_string:
        return schema_string
    return orjson.dumps(_without_mapping(orjson.loads(schema_string))).decode()


def _without_mapping(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_mapping(item) for item in value]
    if isinstance(value, dict):
        return {
            key: _without_mapping(item) for key, item in value.items() if not key.startswith(_MAPPING)
        }
    return value
