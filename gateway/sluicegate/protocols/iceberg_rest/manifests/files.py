"""Generates the manifest list and the manifests of a view.

Files are generated again for each process, so their bytes depend on nothing but the view.
"""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import NotFound
from sluicegate.protocols.columns import texts
from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import check_sizes
from sluicegate.protocols.iceberg_rest.file_access.generated_links import manifest_name
from sluicegate.protocols.iceberg_rest.manifests.avro_schemas import (
    AvroSchema,
    manifest_list_schema,
    manifest_schema,
)
from sluicegate.protocols.iceberg_rest.manifests.entries import (
    Entries,
    Entry,
    rows_by_path,
    sequence_number,
)
from sluicegate.protocols.iceberg_rest.planning.partitions import OwnPartitions
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlobs
from sluicegate.protocols.iceberg_rest.planning.specs import partition_specs, spec_without
from sluicegate.protocols.iceberg_rest.view import IcebergView, TableView, snapshot_id
from sluicegate.tables.iceberg.metadata import schema_json
from sluicegate.tables.partitions import partition_texts


@dataclass(frozen=True, slots=True)
class Part:
    """The data files of a manifest."""

    spec: int
    files: pa.Table


def parts_of(view: IcebergView, most: int) -> list[Part]:
    """The parts of a view, in an order that depends on nothing else. Blocks."""
    rows, own = rows_by_path(view.files), view.shape.own
    if own is None:
        return _cut(spec_without((), view.shape), rows, most)
    partitions = OwnPartitions(own)
    specs = [partitions.of(text).spec.id for text in texts(rows.column("partition_values"))]
    # The sort is stable, and takes no more time if each file has its own spec.
    ordered, start, parts = rows.take(pc.array_sort_indices(pa.array(specs, pa.int64()))), 0, []
    for spec, number in sorted(Counter(specs).items()):
        parts += _cut(spec, ordered.slice(start, number), most)
        start += number
    return parts


def _cut(spec: int, rows: pa.Table, most: int) -> list[Part]:
    return [Part(spec, rows.slice(start, most)) for start in range(0, len(rows), most)]


MANIFEST_FILES = 5_000
"""The most data files of a manifest, whose entries are in memory at once."""

_SYNC_MARKER = b"sluicegate avro."  # fixed, so that the same view has the same bytes
_DATA, _DELETES = 0, 1
_SCHEMA_ID = 0  # readers of manifests do not look it up


class ManifestFiles:
    """Generates these files.

    The manifests with an even number contain data files. The next odd number is that of the manifest
    with the deletion vectors of these files.
    """

    def __init__(self, blobs: VectorBlobs) -> None:
        self._blobs = blobs

    async def manifest_list(self, view: IcebergView) -> bytes:
        """The manifest list.

        Readers need the exact sizes of manifests, so all of them are generated.
        """
        found = []
        parts = await anyio.to_thread.run_sync(parts_of, view, MANIFEST_FILES)
        for place, part in enumerate(parts):
            for content in (_DATA, _DELETES):
                number = 2 * place + content
                entries = await self._entries(view, part, number)
                if entries:
                    manifest = await anyio.to_thread.run_sync(
                        _manifest, view, part.spec, content, entries
                    )
                    found.append(_listed(view, part.spec, number, len(manifest), entries))
        return await anyio.to_thread.run_sync(_manifest_list, view, found)

    async def manifest(self, view: IcebergView, number: int) -> bytes:
        """A manifest; raises as `manifest_list` does."""
        parts = await anyio.to_thread.run_sync(parts_of, view, MANIFEST_FILES)
        place = number // 2
        entries = await self._entries(view, parts[place], number) if place < len(parts) else []
        if not entries:
            raise NotFound("there is no such manifest: load the table again")
        return await anyio.to_thread.run_sync(_manifest, view, parts[place].spec, number % 2, entries)

    async def _entries(self, view: IcebergView, part: Part, number: int) -> list[Entry]:
        """The entries of a manifest; none if there is no such manifest."""
        files = part.files
        if number % 2 == _DATA:
            return await anyio.to_thread.run_sync(lambda: list(Entries(view).of_data(files)))
        vectors = files.column("deletion_vector")
        if vectors.null_count == len(vectors):
            return []
        blobs = await self._blobs.of(view, files)
        return await anyio.to_thread.run_sync(lambda: list(Entries(view).of_vectors(files, blobs)))


def _listed(
    view: IcebergView, spec: int, number: int, length: int, entries: list[Entry]
) -> dict[str, Any]:
    [path] = view.paths.of([manifest_name(number)])
    snapshot = snapshot_id(view.snapshot.version)
    return {
        "manifest_path": path,
        "manifest_length": length,
        "partition_spec_id": spec,
        "content": number % 2,
        "sequence_number": snapshot,
        "min_sequence_number": sequence_number(view, deletes=number % 2 == _DELETES),
        "added_snapshot_id": snapshot,
        "added_files_count": 0,
        "existing_files_count": len(entries),
        "deleted_files_count": 0,
        "added_rows_count": 0,
        "existing_rows_count": sum(max(each["data_file"]["record_count"], 0) for each in entries),
        "deleted_rows_count": 0,
    }


def _manifest(view: IcebergView, spec_id: int, content: int, entries: list[Entry]) -> bytes:
    shape = view.shape
    [spec] = [each for each in partition_specs(shape) if each["spec-id"] == spec_id]
    described = {"schema-id": _SCHEMA_ID, **schema_json(shape.schema)}
    headers = {
        "schema": orjson.dumps(described).decode(),
        "schema-id": str(_SCHEMA_ID),
        "partition-spec": orjson.dumps(spec["fields"]).decode(),
        "partition-spec-id": str(spec["spec-id"]),
        "format-version": str(shape.format_version),
        "content": "deletes" if content == _DELETES else "data",
    }
    return _avro(manifest_schema(shape, spec_id), entries, headers)


def _manifest_list(view: IcebergView, manifests: list[dict[str, Any]]) -> bytes:
    snapshot = str(snapshot_id(view.snapshot.version))
    headers = {
        "snapshot-id": snapshot,
        "sequence-number": snapshot,
        "format-version": str(view.shape.format_version),
    }
    return _avro(manifest_list_schema(), manifests, headers)


def _avro(schema: AvroSchema, rows: list[dict[str, Any]], headers: dict[str, str]) -> bytes:
    import fastavro  # imported late: clients whose scans are planned here read no manifests

    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, rows, codec="deflate", metadata=headers, sync_marker=_SYNC_MARKER)
    return buffer.getvalue()


def check_manifests(view: TableView) -> None:
    """Check the partition values, and the sizes of deletion vectors. Blocks.

    Views whose files are in an index are not checked: their clients get the error from a manifest.
    """
    if isinstance(view, IcebergView):
        Entries(view).check_partitions(partition_texts(view.files))
        check_sizes(view.files)
