"""Lines of the Delta Sharing protocol, "API Response Actions in Delta Format".

Each line wraps the log's own action; only paths are replaced by presigned URLs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa

from sluicegate.api import Presigned
from sluicegate.protocols.columns import integers, texts
from sluicegate.protocols.delta_sharing.encoding.delta_features import answered_properties
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
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

_EXTRAS = (
    ("base_row_id", "baseRowId"),
    ("default_row_commit_version", "defaultRowCommitVersion"),
    ("clustering_provider", "clusteringProvider"),
)

_NO_VECTORS: Mapping[int, tuple[str, str]] = {}


def protocol(answered: TableProtocol, *, version: int | None = None) -> bytes:
    """The protocol line ("Protocol in Delta Format"). `version` is set if historical lines follow."""
    readers, writers = answered.reader_features, answered.writer_features
    value = present(
        minReaderVersion=answered.min_reader_version,
        minWriterVersion=answered.min_writer_version,
        readerFeatures=None if readers is None else list(readers),
        writerFeatures=None if writers is None else list(writers),
    )
    return line({"protocol": present(version=version, deltaProtocol=value)})


def metadata(
    table: TableMetadata,
    answered: TableProtocol,
    *,
    totals: TableTotals | None = None,
    version: int | None = None,
    access: Mapping[str, Any] | None = None,
) -> bytes:
    """The metadata line ("Metadata in Delta Format")."""
    action = present(
        id=table.id,
        name=table.name,
        description=table.description,
        format={"provider": table.provider, "options": dict(table.format_options)},
        schemaString=table.schema_string,
        partitionColumns=list(table.partition_columns),
        configuration=answered_properties(table, answered),
        createdTime=table.created_time,
    )
    value = present(
        version=version,
        size=totals and totals.size,
        numFiles=totals and totals.files,
        deltaMetadata=action,
        **(access or {}),
    )
    return line({"metaData": value})


def files(
    batch: pa.Table,
    presigned: Presigned,
    vectors: Mapping[int, tuple[str, str]],
    at: VersionStamp | None = None,
    hash_name: str = "sha256",
) -> bytes:
    """One line per file, as an `add` action ("File in Delta Format")."""
    rows = file_texts(batch, hash_name, vectors)
    return lines(urls(presigned), rows, at, expiration(presigned))


def file_texts(
    batch: pa.Table, hash_name: str, vectors: Mapping[int, tuple[str, str]] = _NO_VECTORS
) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """The ids and the ends of the lines of files.

    They are the same in all responses about a version, if no file has a deletion vector.
    """
    actions, vector_ids = vector_members(batch, vectors)
    ids = file_ids(batch, hash_name)
    rows = zip(
        texts(batch.column("partition_values")),
        integers(batch.column("size")),
        moments(batch.column("modification_time")),
        optional(texts(batch.column("stats")), "stats"),
        extras(batch),
        actions,
        strict=True,
    )
    ends = [
        f',"partitionValues":{partition},"size":{size},"modificationTime":{modified},"dataChange":true'
        f"{stats}{extra}{vector}".encode()
        for partition, size, modified, stats, extra, vector in rows
    ]
    return [f'"{id}"{vector_id}'.encode() for id, vector_id in zip(ids, vector_ids, strict=True)], ends


def lines(
    url: JoinedColumns, texts: Sequence[Sequence[bytes]], at: VersionStamp | None, expires: str
) -> bytes:
    """One line per file."""
    ids, ends = map(JoinedColumns.of, texts)
    middle = f'{travelled(at)}{expires},"deltaSingleAction":{{"add":{{"path":'.encode()
    start, end = JoinedColumns((b'{"file":{"id":',)), JoinedColumns((b"}}}}\n",))
    return (start + ids + JoinedColumns((middle,)) + url + ends + end).joined()


def moments(column: pa.ChunkedArray) -> list[int]:
    """The modification times of added files, or 0 if the log has none, because clients require one."""
    times = integers(column)
    return [time or 0 for time in times] if column.null_count else times


def extras(batch: pa.Table) -> list[str]:
    """For each row, the rarely used JSON members: tags (already JSON), row tracking, clustering."""
    members = [""] * batch.num_rows
    tags = batch.column("tags")
    if tags.null_count < len(tags):
        members = [f',"tags":{text}' if text else "" for text in tags.to_pylist()]
    for column, key in _EXTRAS:
        values = batch.column(column)
        if values.null_count < len(values):
            members = [
                extra if value is None else f'{extra},"{key}":{orjson.dumps(value).decode()}'
                for extra, value in zip(members, values.to_pylist(), strict=True)
            ]
    return members


def vector_members(
    batch: pa.Table, signed: Mapping[int, tuple[str, str]]
) -> tuple[list[str], list[str]]:
    """For each row, the `deletionVector` member, and the member with the id of its file.

    An inline vector has no file but still gets an id, because clients look up vectors by it.
    """
    column = batch.column("deletion_vector")
    actions, ids = [""] * batch.num_rows, [""] * batch.num_rows
    if column.null_count == len(column):
        return actions, ids
    for row, vector in enumerate(column.to_pylist()):
        if vector is None:
            continue
        value: dict[str, Any] = present(**vector)
        location = value.get("pathOrInlineDv", "")
        if row in signed:
            location, url = signed[row]
            value |= {"storageType": "p", "pathOrInlineDv": url}
        digest = hashlib.sha256(location.encode()).hexdigest()
        ids[row] = f',"deletionVectorFileId":"{digest}"'
        actions[row] = f',"deletionVector":{orjson.dumps(value).decode()}'
    return actions, ids
