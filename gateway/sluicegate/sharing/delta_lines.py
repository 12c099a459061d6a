"""Lines of delta-sharing-protocol.md, "API Response Actions in Delta Format".

Each line wraps the log's own action; only paths are replaced by presigned URLs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
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
from sluicegate.tables.features import FeatureNeeds
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

_EXTRAS = (
    ("base_row_id", "baseRowId"),
    ("default_row_commit_version", "defaultRowCommitVersion"),
    ("clustering_provider", "clusteringProvider"),
)


def protocol(
    table: TableProtocol,
    needs: FeatureNeeds,
    features: Sequence[str],
    *,
    version: int | None = None,
) -> bytes:
    """The protocol line ("Protocol in Delta Format"). `version` is given where historical ones follow.

    Features of the log itself (v2 checkpoints, catalog commits, …) mean nothing to a reader of a list
    of files, so those that the client did not list are left out, here and among the writer features.
    """
    dropped = set(needs.declared).difference(features)
    writer = table.writer_features
    value = present(
        minReaderVersion=table.min_reader_version,
        minWriterVersion=table.min_writer_version,
        readerFeatures=None if table.reader_features is None else list(features),
        writerFeatures=None if writer is None else [name for name in writer if name not in dropped],
    )
    return line({"protocol": present(version=version, deltaProtocol=value)})


def metadata(
    table: TableMetadata,
    *,
    totals: TableTotals | None = None,
    version: int | None = None,
    access: Mapping[str, Any] | None = None,
) -> bytes:
    """The metadata line ("Metadata in Delta Format").

    `version` is given in answers to time travel, `access` where directory access is offered.
    """
    action = present(
        id=table.id,
        name=table.name,
        description=table.description,
        format={"provider": table.provider, "options": dict(table.format_options)},
        schemaString=table.schema_string,
        partitionColumns=list(table.partition_columns),
        configuration=dict(table.configuration),
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
    at: At | None = None,
    hash_name: str = "sha256",
) -> bytes:
    """A line for each file, as an `add` action ("File in Delta Format").

    Args:
        batch: Rows of `FILE_SCHEMA`.
        presigned: Their URLs, in the same order.
        vectors: By row: the location and the presigned URL of a deletion vector's file.
        at: The version asked for by time travel.
        hash_name: `md5` or `sha256` of the path makes the id.
    """
    head_tail = travelled(at) + expiration(presigned)
    rows = zip(
        escape(presigned.urls),
        file_ids(texts(batch.column("path")), hash_name),
        texts(batch.column("partition_values")),
        integers(batch.column("size")),
        integers(batch.column("modification_time")),
        optional(texts(batch.column("stats")), "stats"),
        extras(batch),
        *vector_members(batch, vectors),
        strict=True,
    )
    return "".join(
        f'{{"file":{{"id":"{id}"{vector_id}{head_tail},"deltaSingleAction":{{"add":{{"path":{url},'
        f'"partitionValues":{partition},"size":{size},"modificationTime":{modified},"dataChange":true'
        f"{stats}{extra}{vector}}}}}}}}}\n"
        for url, id, partition, size, modified, stats, extra, vector, vector_id in rows
    ).encode()


def extras(batch: pa.Table) -> list[str]:
    """For each row the members that few tables have: tags (JSON already), row tracking, clustering."""
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
    """For each row the `deletionVector` member, and the member with its file's id."""
    column = batch.column("deletion_vector")
    actions, ids = [""] * batch.num_rows, [""] * batch.num_rows
    if column.null_count == len(column):
        return actions, ids
    for row, vector in enumerate(column.to_pylist()):
        if vector is None:
            continue
        value: dict[str, Any] = present(**vector)
        if row in signed:
            location, url = signed[row]
            value |= {"storageType": "p", "pathOrInlineDv": url}
            digest = hashlib.sha256(location.encode()).hexdigest()
            ids[row] = f',"deletionVectorFileId":"{digest}"'
        actions[row] = f',"deletionVector":{orjson.dumps(value).decode()}'
    return actions, ids
