"""Tables of awkward names, read through signed links as the official client reads them."""

from __future__ import annotations

import json
from pathlib import Path

import delta_kernel_rust_sharing_wrapper as kernel
import fsspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from support.servers.file_link_server import FileLinkServer

AWKWARD_NAMES = [
    "part-0.parquet",
    "a b.parquet",
    "p%20q.parquet",
    "100%.parquet",
    "%2e%2e.parquet",
    "h#1.parquet",
    "q?y=1&z.parquet",
    "day=2024-01-01 10%3A00%3A00/part.parquet",
    "key=a=b/k=c%2Fd/part.parquet",
    "größe-日本-🌊.parquet",
    "plus+and&semi;comma,.parquet",
    "br[1]{x}(y).parquet",
    "quo\"te'`^|~$!*@:<>.parquet",
    "back\\slash.parquet",
    "..dots..parquet",
    " spaces .parquet",
]
TABLE = pa.table({"n": pa.array(range(1000), pa.int64())})
SCHEMA = {"type": "struct", "fields": [{"name": "n", "type": "long", "nullable": True, "metadata": {}}]}


@pytest.fixture(params=AWKWARD_NAMES)
def url(server: FileLinkServer, request: pytest.FixtureRequest) -> str:
    path = server.write(f"awkward/{request.param}", b"")
    pq.write_table(TABLE, path, row_group_size=100)
    return server.link(f"awkward/{request.param}")


def test_the_pandas_reader_reads_ranges(url: str) -> None:
    filesystem = fsspec.filesystem("http")
    assert pq.ParquetFile(url, filesystem=filesystem).metadata.num_rows == 1000
    assert ds.dataset(source=url, format="parquet", filesystem=filesystem).to_table() == TABLE


def test_the_kernel_reads_the_file(url: str, tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    metadata = {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    size = fsspec.filesystem("http").size(url)
    add = {"path": url, "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
        {"add": add},
    ]
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
    location = f"file://{tmp_path}"
    interface = kernel.PythonInterface(location)
    scan = kernel.ScanBuilder(kernel.Table(location).snapshot(interface)).build()
    assert pa.Table.from_batches(scan.execute(interface)) == TABLE
