"""Writes commits of a Delta log from columns of files, without a Python object for each file.

Source: Delta protocol, "Actions" and "Delta Log Entries".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from mmap import mmap
from typing import Any, Final

import obstore
import orjson
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore

from sluicegate.api import ObjectDirectory, TaskFailed, quote_keys
from sluicegate.formats import FileSet, TableMetadata, TableProtocol
from sluicegate_spark.conversion.to_delta.column_bounds import ColumnBounds
from sluicegate_spark.conversion.to_delta.deletion_vectors import log_descriptors

BATCH: Final = 8192  # lines that are generated together
_COMPARED: Final = 65_536  # bytes; the first line contains the id of the attempt
DELETION_VECTORS: Final = "deletionVectors"
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*://")


def commit_header(
    info: Mapping[str, Any], protocol: TableProtocol | None, metadata: TableMetadata | None
) -> bytes:
    """Return the lines of a commit that precede its files."""
    actions: list[Mapping[str, Any]] = [{"commitInfo": info}]
    if protocol is not None:
        actions.append({"protocol": _protocol(protocol)})
    if metadata is not None:
        actions.append({"metaData": _metadata(metadata)})
    return b"".join(orjson.dumps(action) + b"\n" for action in actions)


def add_lines(files: FileSet, bounds: ColumnBounds | None = None) -> Iterator[bytes]:
    """Yield lines that add files, in batches."""
    complete = str if bounds is None else bounds.complete
    for batch in files.batches(BATCH):
        columns = zip(
            *_columns(batch),
            batch.column("modification_time").to_pylist(),
            batch.column("stats").to_pylist(),
            strict=True,
        )
        lines = [
            f'{{"add":{{"path":"{path}","partitionValues":{partition},"size":{size},'
            f'"modificationTime":{modified or 0},"dataChange":true{vector}'
            f"{'' if stats is None else f',{_STATS}{_text(complete(stats))}'}}}}}\n"
            for path, partition, size, vector, modified, stats in columns
        ]
        yield "".join(lines).encode()


def remove_lines(files: FileSet, now: int) -> Iterator[bytes]:
    """Yield lines that remove files, in batches."""
    for batch in files.batches(BATCH):
        lines = [
            f'{{"remove":{{"path":"{path}","deletionTimestamp":{now},"dataChange":true,'
            f'"extendedFileMetadata":true,"partitionValues":{partition},"size":{size}{vector}}}}}\n'
            for path, partition, size, vector in zip(*_columns(batch), strict=True)
        ]
        yield "".join(lines).encode()


async def commit(directory: ObjectDirectory, version: int, content: bytes | mmap) -> None:
    """Write a commit as one object, if the log doesn't contain its version yet.

    If the response is lost, the object is read back: the store's client repeats the request, and the
    store rejects the repetition if the first request succeeded.

    Args:
        content: The lines of the commit. The first 64 KiB must be unique to this attempt.
    """
    key = directory.key(f"_delta_log/{version:020}.json")
    try:
        await obstore.put_async(directory.store, key, content, mode="create", use_multipart=False)
    except AlreadyExistsError:
        if await _is_stored(directory.store, key, content):
            return
        raise TaskFailed(
            f"another writer committed version {version} of the Delta table first",
            error_code="STORAGE_FAILED",
            retryable=True,
        ) from None
    except (BaseError, OSError) as error:
        if await _is_stored(directory.store, key, content):
            return
        raise TaskFailed(
            "the table's storage does not accept the commit to the Delta table",
            error_code="STORAGE_FAILED",
            retryable=True,
            detail=f"{key}: {type(error).__name__}",
        ) from error


async def _is_stored(store: ObjectStore, key: str, content: bytes | mmap) -> bool:
    compared = min(len(content), _COMPARED)
    try:
        found = await obstore.head_async(store, key)
        if found["size"] != len(content):
            return False
        start = await obstore.get_range_async(store, key, start=0, length=compared)
        return bytes(start) == content[:compared]
    except FileNotFoundError:
        return False
    except (BaseError, OSError) as error:
        raise TaskFailed(
            "the table's storage did not confirm the commit to the Delta table, and it is unknown "
            "whether the commit was stored; the next attempt reads the table first",
            error_code="COMMIT_STATE_UNKNOWN",
            retryable=True,
            detail=f"{key}: {type(error).__name__}",
        ) from error


def with_feature(protocol: TableProtocol, feature: str) -> TableProtocol:
    """Return the protocol with an additional writer feature."""
    return replace(protocol, writer_features=(*(protocol.writer_features or ()), feature))


def with_deletion_vectors(protocol: TableProtocol) -> TableProtocol:
    """Return the protocol with the reader and writer feature of deletion vectors.

    After a log has contained deletion vectors, the feature must remain: readers of the change data
    feed apply the newest protocol to all versions.
    """
    readers, writers = (
        (DELETION_VECTORS, *(name for name in features or () if name != DELETION_VECTORS))
        for features in (protocol.reader_features, protocol.writer_features)
    )
    return replace(protocol, reader_features=readers, writer_features=writers)


_STATS = '"stats":'


def _columns(batch: pa.Table) -> tuple[list[Any], ...]:
    vectors = [
        each
        for chunk in batch.column("deletion_vector").chunks
        for each in log_descriptors(chunk).to_pylist()
    ]
    return (
        _uris(batch.column("path").to_pylist()),
        batch.column("partition_values").cast(pa.string()).to_pylist(),
        batch.column("size").to_pylist(),
        [_vector(vector) for vector in vectors],
    )


def _uris(paths: list[str]) -> list[str]:
    """Return literal paths as percent-encoded URIs. The scheme of an absolute path stays unchanged."""
    heads = [found[0] if (found := _SCHEME.match(path)) else "" for path in paths]
    tails = quote_keys([path[len(head) :] for path, head in zip(paths, heads, strict=True)])
    return [head + tail for head, tail in zip(heads, tails, strict=True)]


def _vector(vector: Mapping[str, Any] | None) -> str:
    if vector is None:
        return ""
    known = {name: value for name, value in vector.items() if value is not None}
    return f',"deletionVector":{orjson.dumps(known).decode()}'


def _text(value: str) -> str:
    return orjson.dumps(value).decode()


def _protocol(protocol: TableProtocol) -> dict[str, Any]:
    return {
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "readerFeatures": protocol.reader_features,
        "writerFeatures": protocol.writer_features,
    }


def _metadata(metadata: TableMetadata) -> dict[str, Any]:
    return {
        "id": metadata.id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": metadata.schema_string,
        "partitionColumns": metadata.partition_columns,
        "configuration": dict(metadata.configuration),
        "createdTime": metadata.created_time,
    }
