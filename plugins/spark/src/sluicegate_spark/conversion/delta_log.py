"""Commits of a Delta log, made of columns (Delta protocol, "Actions")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import obstore
import orjson
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError

from sluicegate.api import ObjectDirectory, TaskFailed, quote_keys
from sluicegate.formats import FileSet, TableMetadata, TableProtocol
from sluicegate_spark.conversion.vectors import stored

BATCH: Final = 8192  # lines that are made at once
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*://")


def head(
    info: Mapping[str, Any], protocol: TableProtocol | None, metadata: TableMetadata | None
) -> bytes:
    """The lines of a commit before its files; what is `None` stays as it was."""
    actions: list[Mapping[str, Any]] = [{"commitInfo": info}]
    if protocol is not None:
        actions.append({"protocol": _protocol(protocol)})
    if metadata is not None:
        actions.append({"metaData": _metadata(metadata)})
    return b"".join(orjson.dumps(action) + b"\n" for action in actions)


def adds(files: FileSet) -> Iterator[bytes]:
    """Lines that add files, a batch at once."""
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
            f"{'' if stats is None else f',{_STATS}{_text(stats)}'}}}}}\n"
            for path, partition, size, vector, modified, stats in columns
        ]
        yield "".join(lines).encode()


def removes(files: FileSet, now: int) -> Iterator[bytes]:
    """Lines that remove files, a batch at once.

    Args:
        files: As the log has them.
        now: Epoch milliseconds.
    """
    for batch in files.batches(BATCH):
        lines = [
            f'{{"remove":{{"path":"{path}","deletionTimestamp":{now},"dataChange":true,'
            f'"extendedFileMetadata":true,"partitionValues":{partition},"size":{size}{vector}}}}}\n'
            for path, partition, size, vector in zip(*_columns(batch), strict=True)
        ]
        yield "".join(lines).encode()


async def commit(directory: ObjectDirectory, version: int, content: bytes) -> None:
    """Put a commit where there is none yet: one object, all of it or nothing.

    Raises:
        TaskFailed: Another writer was quicker, or the store refuses.
    """
    key = directory.key(f"_delta_log/{version:020}.json")
    try:
        await obstore.put_async(directory.store, key, content, mode="create", use_multipart=False)
    except AlreadyExistsError:
        raise TaskFailed(
            f"another writer made version {version} of the Delta table meanwhile",
            error_code="STORAGE_FAILED",
            retryable=True,
        ) from None
    except (BaseError, OSError) as error:
        raise TaskFailed(
            "the table's storage does not take the Delta table's commit",
            error_code="STORAGE_FAILED",
            retryable=True,
            detail=f"{key}: {type(error).__name__}",
        ) from error


def with_feature(protocol: TableProtocol, feature: str) -> TableProtocol:
    """The protocol with one more feature for writers."""
    return replace(protocol, writer_features=(*(protocol.writer_features or ()), feature))


_STATS = '"stats":'


def _columns(batch: pa.Table) -> tuple[list[Any], ...]:
    vectors = [
        each for chunk in batch.column("deletion_vector").chunks for each in stored(chunk).to_pylist()
    ]
    return (
        _uris(batch.column("path").to_pylist()),
        batch.column("partition_values").cast(pa.string()).to_pylist(),
        batch.column("size").to_pylist(),
        [_vector(vector) for vector in vectors],
    )


def _uris(paths: list[str]) -> list[str]:
    """Literal paths as URIs: those below the table percent-encoded, others behind their scheme."""
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
