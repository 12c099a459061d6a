"""Iceberg tables to purge: many small files and snapshots, all kinds of files, and what is beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.table.statistics import StatisticsFile
from pyiceberg.typedef import Record
from support.tables.iceberg_deletes import delete_by_vectors, delete_positions

from sluicegate_testing.servers.seaweedfs import SeaweedFS

ROWS = pa.table({"number": pa.array(range(4), pa.int64())})
ELSEWHERE = "elsewhere"  # a catalog that the executor does not know


def config_of(server: SeaweedFS, endpoint: str | None = None) -> dict[str, str]:
    """Properties and credentials as a catalog hands them over in a payload's `config`."""
    return {
        "s3.endpoint": endpoint or server.endpoint,
        "s3.region": server.region,
        "s3.path-style-access": "true",
        "s3.access-key-id": server.admin.access_key_id,
        "s3.secret-access-key": server.admin.secret_access_key,
    }


def own_catalog(server: SeaweedFS, folder: Path) -> SqlCatalog:
    """A catalog whose tables are in the store's ordinary bucket, so that they may have any file."""
    catalog = SqlCatalog(
        "own",
        uri=f"sqlite:///{folder}/own.db",
        warehouse=f"s3://{server.bucket}",
        **config_of(server),
    )
    catalog.create_namespace_if_not_exists("eu")
    return catalog


def handed_over(table: Table, config: Mapping[str, str]) -> dict[str, Any]:
    """The parameters of a task for a table of a catalog that the executor does not know."""
    return {
        "catalog": ELSEWHERE,
        "metadata_location": table.metadata_location,
        "metadata": {
            "table-uuid": str(table.metadata.table_uuid),
            "location": table.location(),
            "format-version": table.metadata.format_version,
        },
        "config": dict(config),
    }


def make(
    catalog: Catalog,
    name: str,
    *,
    snapshots: int = 3,
    files: int = 4,
    properties: Mapping[str, str] | None = None,
) -> Table:
    """A table of so many snapshots, each of which adds so many files."""
    table = catalog.create_table(f"eu.{name}", ROWS.schema, properties=dict(properties or {}))
    for number in range(snapshots):
        _append(
            table, [f"{table.location()}/data/{number:03}-{file:03}.parquet" for file in range(files)]
        )
    return table


def add_all_kinds(table: Table) -> None:
    """Position deletes, a deletion vector of version 3, statistics, and a version hint."""
    first, second, *_ = sorted(task.file.file_path for task in table.scan().plan_files())
    delete_positions(table, {first: [0]})
    delete_by_vectors(table, {second: [1, 2]})
    snapshot = table.metadata.current_snapshot_id
    assert snapshot is not None
    statistics = f"{table.location()}/metadata/{snapshot}.stats"
    _write(table, statistics, b"PFA1")
    with table.update_statistics() as update:
        update.set_statistics(
            StatisticsFile(
                snapshot_id=snapshot,
                statistics_path=statistics,
                file_size_in_bytes=4,
                file_footer_size_in_bytes=0,
                blob_metadata=[],
            )
        )
    _write(table, f"{table.location()}/metadata/version-hint.text", b"7")


def objects_of(server: SeaweedFS, bucket: str | None = None) -> dict[str, int]:
    """Keys and sizes of all objects of a bucket."""
    listing = obstore.list(server.store(bucket=bucket)).collect()
    return {each["path"]: each["size"] for each in listing}


def below(objects: Mapping[str, int], folder: str) -> dict[str, int]:
    """Those of a folder."""
    return {key: size for key, size in objects.items() if key.startswith(f"{folder}/")}


def _append(table: Table, locations: list[str]) -> None:
    buffer = pa.BufferOutputStream()
    pq.write_table(ROWS, buffer)
    data = buffer.getvalue().to_pybytes()
    for location in locations:
        _write(table, location, data)
    name_files(table, locations, len(data))


def name_files(table: Table, locations: Sequence[str], size: int = 900) -> None:
    """Add data files to a table by their names alone; nobody looks whether they are there."""
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for location in locations:
            append.append_data_file(
                DataFile.from_args(
                    content=DataFileContent.DATA,
                    file_path=location,
                    file_format=FileFormat.PARQUET,
                    partition=Record(),
                    record_count=len(ROWS),
                    file_size_in_bytes=size,
                )
            )


def _write(table: Table, location: str, data: bytes) -> None:
    with table.io.new_output(location).create(overwrite=True) as stream:
        stream.write(data)
