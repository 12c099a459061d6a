"""From metadata to snapshots; manifests never change, so each is read once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import anyio
import anyio.to_thread
import orjson

from sluicegate.api import CatalogTable
from sluicegate.formats import FileSet, Snapshot, TableMetadata, TableProtocol
from sluicegate_iceberg.format.bounds import metrics_of
from sluicegate_iceberg.format.files import DataFiles, data_files
from sluicegate_iceberg.format.lineage import Version
from sluicegate_iceberg.format.manifests import DATA, Manifest, entries_of, manifests_of, schema_of
from sluicegate_iceberg.format.metadata import IcebergMetadata
from sluicegate_iceberg.format.objects import TableObjects
from sluicegate_iceberg.format.schema import Struct, parse_struct
from sluicegate_iceberg.format.shape import Shape, shape_of

_CONCURRENT_READS = 16
_MIN_READER, _MIN_WRITER = 3, 7  # the versions that name their features


@dataclass(frozen=True, slots=True)
class KeptManifest:
    """What was made of a data manifest, and the JSON of the schema that it was written with."""

    schema: str
    files: DataFiles


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a snapshot was made of, kept to advance it.

    Attributes:
        manifests: By path.
    """

    metadata_location: str
    metadata: IcebergMetadata
    shape: Shape
    manifests: Mapping[str, KeptManifest]


class Loader:
    """Makes snapshots of one table.

    Args:
        table: What the catalog says.
        location: Of the metadata file.
        metadata: What it says.
        objects: The table's objects.
    """

    def __init__(
        self, table: CatalogTable, location: str, metadata: IcebergMetadata, objects: TableObjects
    ) -> None:
        self._table = table
        self._location = location
        self._metadata = metadata
        self._objects = objects
        self._timestamps = {each.id: each.timestamp for each in metadata.snapshots.values()}

    async def load(self, version: Version, schema: Struct, previous: Loaded | None = None) -> Snapshot:
        """The snapshot of a version.

        Args:
            version: Which one.
            schema: What is declared.
            previous: What another snapshot of the table was made of.

        Raises:
            TableUnreadable: Metadata is broken or missing.
            UnsupportedOperation: The table cannot be said exactly.
            StorageError: The store does not answer or refuses.
        """
        manifests = await manifests_of(self._objects, version.snapshot)
        data = [manifest for manifest in manifests if manifest.content == DATA]
        known = dict(previous.manifests) if previous else {}
        fetched = await self._fetch([each for each in data if each.path not in known])
        schemas = {schema_of(content) for content in fetched.values()}
        schemas |= {known[each.path].schema for each in data if each.path in known}
        shape = self._shape(schema, schemas)
        if previous and (shape.columns, shape.by_name) != (
            previous.shape.columns,
            previous.shape.by_name,
        ):
            # Statistics name the columns, so all are made anew.
            fetched |= await self._fetch([each for each in data if each.path in known])
        made = await anyio.to_thread.run_sync(partial(self._files, data, fetched, shape))
        kept = {each.path: made.get(each.path) or known[each.path] for each in data}
        files = FileSet.of(each.files.chunk for each in kept.values())
        return Snapshot(
            version.number,
            version.timestamp,
            TableProtocol(_MIN_READER, _MIN_WRITER, shape.features, shape.features),
            self._table_metadata(shape),
            files,
            Loaded(self._location, self._metadata, shape, kept),
        )

    async def _fetch(self, manifests: Iterable[Manifest]) -> dict[str, bytes]:
        limiter = anyio.CapacityLimiter(_CONCURRENT_READS)

        async def read(path: str) -> bytes:
            async with limiter:
                return await self._objects.read(path)

        paths = [manifest.path for manifest in manifests]
        return dict(zip(paths, await asyncio.gather(*map(read, paths)), strict=True))

    def _shape(self, schema: Struct, written: Iterable[str]) -> Shape:
        return shape_of(
            schema,
            [*self._metadata.schemas.values(), *(parse_struct(orjson.loads(text)) for text in written)],
            known=self._metadata.all_schemas,
            name_mapping=self._metadata.name_mapping,
        )

    def _files(
        self, manifests: Sequence[Manifest], fetched: Mapping[str, bytes], shape: Shape
    ) -> dict[str, KeptManifest]:
        """One manifest after the other: decoded, its entries take a hundred times its bytes."""
        metrics = metrics_of(shape.columns, shape.physical)
        return {
            manifest.path: KeptManifest(
                schema_of(content),
                data_files(entries_of(manifest, content), self._objects, metrics, self._timestamps),
            )
            for manifest in manifests
            if (content := fetched.get(manifest.path)) is not None
        }

    def _table_metadata(self, shape: Shape) -> TableMetadata:
        return TableMetadata(
            id=self._metadata.table_uuid or self._table.id,
            schema_string=shape.delta_schema,
            parquet_schema_string=shape.parquet_schema,
            configuration=shape.configuration,
        )
