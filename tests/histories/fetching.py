"""The rows of returned files, fetched by their links as a recipient does."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import delta_kernel_rust_sharing_wrapper as kernel
import httpx
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from histories.oracle import CHANGE, Gone
from histories.responses import FileLine, TableResponse
from histories.values import ARROW

_SAME_ROWS = ("path", "partitionValues", "size", "deletionVector")


class Fetching:
    """A file's rows are what it holds, its partition values and null in the other columns.

    Contents are kept by the ids of their files, as recipients may do.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._kept: dict[str, pa.Table] = {}

    def forget(self) -> None:
        """Fetch every file anew from now on."""
        self._kept.clear()

    def rows(self, response: TableResponse, files: Sequence[FileLine]) -> pa.Table:
        """The rows of files of one version and one kind."""
        columns = response.columns
        if files and files[0].kind == "cdf":
            columns = [*columns, (CHANGE, "string")]
        schema = pa.schema([(name, ARROW[kind]) for name, kind in columns])
        names = response.physical_names
        tables = [self._rows(file, schema, names) for file in files]
        return pa.concat_tables([schema.empty_table(), *tables])

    def _rows(self, file: FileLine, schema: pa.Schema, names: Mapping[str, str]) -> pa.Table:
        held, values = self._held(file), file.content["partitionValues"]
        columns = [_column(held, names.get(each.name, each.name), each.type, values) for each in schema]
        return pa.table(columns, schema=schema)

    def _held(self, file: FileLine) -> pa.Table:
        if file.id not in self._kept:
            content = BytesIO(self._fetch(file.url))
            self._kept[file.id] = pq.read_table(content, partitioning=None)
        return self._kept[file.id]

    def _fetch(self, url: str) -> bytes:
        response = self._client.get(url)
        if response.status_code == 404:
            raise Gone(url)
        return response.raise_for_status().content


def _column(
    held: pa.Table, name: str, type: pa.DataType, partition_values: Mapping[str, str | None]
) -> pa.ChunkedArray:
    if name in held.column_names:
        return held.column(name).cast(type)
    text = pa.scalar(partition_values.get(name), pa.string())
    return pa.chunked_array([pa.repeat(text.cast(type), held.num_rows)])


class KernelFetching(Fetching):
    """The official client's kernel reads a log of the returned actions, in delta format.

    It takes deletion vectors and column mapping into account. Change files have neither vectors nor,
    for their change type, a column of the table; so they are read without it.
    """

    def rows(self, response: TableResponse, files: Sequence[FileLine]) -> pa.Table:
        """See `Fetching.rows`."""
        if files and files[0].kind == "cdf":
            return super().rows(response, files)
        for file in files:
            self._require(file)
        with tempfile.TemporaryDirectory() as folder:
            _write_log(Path(folder), response, files)
            interface = kernel.PythonInterface(f"file://{folder}")
            snapshot = kernel.Table(f"file://{folder}").snapshot(interface)
            batches = kernel.ScanBuilder(snapshot).build().execute(interface)
            return pa.Table.from_batches(batches, batches.schema)

    def _require(self, file: FileLine) -> None:
        """The kernel takes a store's error for a file's content, and calls that corrupt."""
        self._held(file)
        vector = file.content.get("deletionVector")
        if vector and vector["storageType"] == "p":
            self._fetch(vector["pathOrInlineDv"])


def _added(action: Mapping[str, Any]) -> dict[str, Any]:
    """An action, also a removal, as the addition of the same rows."""
    kept = {name: action[name] for name in _SAME_ROWS if name in action}
    return {**kept, "modificationTime": 0, "dataChange": True}


def _write_log(folder: Path, response: TableResponse, files: Sequence[FileLine]) -> None:
    actions = [
        {"protocol": response.protocol["deltaProtocol"]},
        {"metaData": response.delta_metadata},
        *({"add": _added(file.content)} for file in files),
    ]
    log = folder / "_delta_log" / f"{0:020}.json"
    log.parent.mkdir()
    log.write_bytes(b"\n".join(map(orjson.dumps, actions)))
