"""Lines of the Delta Sharing protocol, "API Response Actions in Parquet Format"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa

from sluicegate._util.lru import cached_by_text
from sluicegate.api import Presigned
from sluicegate.protocols.columns import integers, texts
from sluicegate.protocols.delta_sharing.encoding.file_ids import file_ids
from sluicegate.protocols.delta_sharing.encoding.ndjson import (
    TableTotals,
    VersionStamp,
    expiration,
    line,
    optional,
    present,
    travelled,
    urls,
)
from sluicegate.protocols.joined_columns import JoinedColumns
from sluicegate.tables.snapshot import TableMetadata

_MAPPING = "delta.columnMapping."


def protocol() -> bytes:
    """The protocol line. The version of this format is always 1 ("Protocol")."""
    return line({"protocol": {"minReaderVersion": 1}})


def metadata(
    table: TableMetadata,
    *,
    totals: TableTotals | None = None,
    version: int | None = None,
    access: Mapping[str, Any] | None = None,
) -> bytes:
    """The metadata line ("Metadata").

    `version` is set in responses to time travel, `access` if directory access is offered.
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


def files(
    batch: pa.Table,
    presigned: Presigned,
    at: VersionStamp | None = None,
    hash_name: str = "md5",
) -> bytes:
    """One line per file ("File")."""
    return lines(urls(presigned), file_texts(batch, hash_name), at, expiration(presigned))


def file_texts(batch: pa.Table, hash_name: str) -> tuple[Sequence[bytes]]:
    """The ends of the lines of files, which are the same in all responses about a version."""
    rows = zip(
        file_ids(batch, hash_name),
        texts(batch.column("partition_values")),
        integers(batch.column("size")),
        optional(texts(batch.column("stats")), "stats"),
        strict=True,
    )
    return (
        [
            f',"id":"{id}","partitionValues":{partition},"size":{size}{stats}'.encode()
            for id, partition, size, stats in rows
        ],
    )


def lines(
    url: JoinedColumns, texts: Sequence[Sequence[bytes]], at: VersionStamp | None, expires: str
) -> bytes:
    """One line per file."""
    end = f"{travelled(at)}{expires}}}}}\n".encode()
    return (
        JoinedColumns((b'{"file":{"url":',)) + url + JoinedColumns.of(*texts) + JoinedColumns((end,))
    ).joined()


@cached_by_text
def plain_schema(schema_string: str) -> str:
    """The schema without column-mapping metadata, which this format cannot represent."""
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
