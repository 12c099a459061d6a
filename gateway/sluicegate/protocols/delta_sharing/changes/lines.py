"""Lines of changed files (Delta Sharing protocol, "Data Change Files", "File in Delta Format")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from sluicegate.api import Presigned
from sluicegate.protocols.common.column_values import integers, texts
from sluicegate.protocols.delta_sharing.encoding import delta as delta_lines
from sluicegate.protocols.delta_sharing.encoding.file_ids import file_ids
from sluicegate.protocols.delta_sharing.encoding.ndjson import escape, expiration, optional

_PARQUET_NAMES = {"add": "add", "remove": "remove", "cdc": "cdf"}
_MOMENTS = {"add": ',"modificationTime":', "remove": ',"deletionTimestamp":'}


def parquet(
    rows: pa.Table,
    presigned: Presigned,
    at: Sequence[str],
    hash_name: str = "md5",
    *,
    partitioned: bool,
) -> bytes:
    """One line per file: `add`, `remove` or `cdf` ("Data Change Files").

    Args:
        rows: Rows of `CHANGE_SCHEMA`.
        presigned: Their URLs, in the same order.
        at: The JSON members with their version and timestamp.
        hash_name: The hash of the path that makes the id: `md5` or `sha256`.
        partitioned: Whether the table has partition columns.
    """
    tail = expiration(presigned) + "}}\n"
    kinds = texts(rows.column("kind"))
    members = zip(
        kinds,
        escape(presigned.urls),
        file_ids(rows, hash_name),
        _partition_values(texts(rows.column("partition_values")), None if partitioned else "{}"),
        _sizes(rows),
        _stats_of_adds(kinds, rows),
        at,
        strict=True,
    )
    return "".join(
        f'{{"{_PARQUET_NAMES[kind]}":{{"url":{url},"id":"{id}"{partition}{size}{stats}{when}{tail}'
        for kind, url, id, partition, size, stats, when in members
    ).encode()


def delta(
    rows: pa.Table,
    presigned: Presigned,
    vectors: Mapping[int, tuple[str, str]],
    at: Sequence[str],
    hash_name: str = "sha256",
) -> bytes:
    """One line per file, which wraps the log's own `add`, `remove` or `cdc` action.

    Args:
        rows: Rows of `CHANGE_SCHEMA`.
        presigned: Their URLs, in the same order.
        vectors: By row number: the location and the presigned URL of a deletion vector's file.
        at: The JSON members with their version and timestamp.
        hash_name: The hash of the path that makes the id: `md5` or `sha256`.
    """
    tail = expiration(presigned)
    kinds = texts(rows.column("kind"))
    partitions = texts(rows.column("partition_values"))
    sizes = _sizes(rows)
    members = zip(
        kinds,
        escape(presigned.urls),
        file_ids(rows, hash_name),
        _partition_values(partitions, None),
        sizes,
        _moments(kinds, integers(rows.column("modification_time"))),
        _changes(kinds, partitions, sizes),
        optional(texts(rows.column("stats")), "stats"),
        delta_lines.extras(rows),
        *delta_lines.vector_members(rows, vectors),
        at,
        strict=True,
    )
    return "".join(
        f'{{"file":{{"id":"{id}"{vector_id}{when}{tail},"deltaSingleAction":{{"{kind}":{{"path":{url}'
        f"{partition}{size}{moment}{change}{stats}{extra}{vector}}}}}}}}}\n"
        for (
            kind, url, id, partition, size, moment, change, stats, extra, vector, vector_id, when
        ) in members
    ).encode()  # fmt: skip


def _partition_values(values: Iterable[str | None], missing: str | None) -> list[str]:
    """The JSON members with partition values, which are JSON already, or `missing` if they are null."""
    instead = "" if missing is None else f',"partitionValues":{missing}'
    return [instead if text is None else f',"partitionValues":{text}' for text in values]


def _sizes(rows: pa.Table) -> list[str]:
    return ["" if size is None else f',"size":{size}' for size in integers(rows.column("size"))]


def _stats_of_adds(kinds: Sequence[str], rows: pa.Table) -> list[str]:
    members = optional(texts(rows.column("stats")), "stats")
    return [stats if kind == "add" else "" for kind, stats in zip(kinds, members, strict=True)]


def _moments(kinds: Sequence[str], times: Sequence[int | None]) -> list[str]:
    """The JSON members with the time of modification or deletion, which `cdc` files lack.

    Clients require the time of an added file. If the log omits it, it is 0.
    """
    return [
        ""
        if kind not in _MOMENTS or (time is None and kind != "add")
        else f"{_MOMENTS[kind]}{time or 0}"
        for kind, time in zip(kinds, times, strict=True)
    ]


def _changes(kinds: Sequence[str], partitions: Sequence[str | None], sizes: Sequence[str]) -> list[str]:
    """The JSON members `dataChange` and, for removes, `extendedFileMetadata`."""
    plain = {"add": ',"dataChange":true', "remove": ',"dataChange":true', "cdc": ',"dataChange":false'}
    full = ',"dataChange":true,"extendedFileMetadata":true'
    return [
        full if kind == "remove" and partition is not None and size else plain[kind]
        for kind, partition, size in zip(kinds, partitions, sizes, strict=True)
    ]
