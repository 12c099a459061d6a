"""Loads snapshots from metadata. Manifests never change, so each is read only once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from sluicegate.api import Budget, CatalogTable, UnsupportedOperation
from sluicegate.formats import DescribedVersion, FileChunk, FileSet, Snapshot, TableMetadata
from sluicegate_iceberg.format.broken import in_file
from sluicegate_iceberg.format.declaring import declaration_of
from sluicegate_iceberg.format.deletes.delete_files import (
    Deleted,
    DeletedRows,
    DeleteFile,
    delete_files,
    parse_deletes,
)
from sluicegate_iceberg.format.lineage import Lineage, Version
from sluicegate_iceberg.format.manifests.bounds import metrics_of
from sluicegate_iceberg.format.manifests.data_files import DataFiles, data_files
from sluicegate_iceberg.format.manifests.field_ids import check_field_ids
from sluicegate_iceberg.format.manifests.manifest_files import (
    DATA,
    DELETES,
    Manifest,
    entries_of,
    manifests_of,
    schema_of,
)
from sluicegate_iceberg.format.manifests.partitions import partition_texts
from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata
from sluicegate_iceberg.format.metadata.schema import Struct
from sluicegate_iceberg.format.metadata.shape import Shape
from sluicegate_iceberg.format.objects import TableObjects
from sluicegate_iceberg.format.reading import described_by, way_of_reading


@dataclass(frozen=True, slots=True)
class KeptManifest:
    """The content of a data manifest, and the JSON of the schema that it was written with."""

    schema: str
    files: DataFiles


@dataclass(frozen=True, slots=True)
class Loaded:
    """The parts of a snapshot, kept so that the next snapshot can reuse them."""

    metadata: tuple[str | None, ...]
    versions: frozenset[int]
    shape: Shape
    required: Mapping[int, str]
    manifests: Mapping[str, KeptManifest]
    deletes: Mapping[tuple[str, int], Deleted]
    chunks: Sequence[FileChunk]
    numbered: frozenset[str]

    @property
    def reading(self) -> tuple[object, ...]:
        """Return the way of reading. Parts can be reused only for snapshots with the same value."""
        return _way_of_reading(self.shape, self.required)

    @property
    def nbytes(self) -> int:
        """Return the size in memory without the snapshot's files, in bytes."""
        data = sum(each.files.nbytes + len(each.schema) for each in self.manifests.values())
        return data + sum(each.nbytes for each in self.deletes.values())


class Loader:
    """Loads snapshots of one table."""

    def __init__(
        self, table: CatalogTable, metadata: IcebergMetadata, lineage: Lineage, objects: TableObjects
    ) -> None:
        self._table = table
        self._metadata = metadata
        self._lineage = lineage
        self._versions = frozenset(version.number for version in lineage.versions)
        self._objects = objects
        self._timestamps = {each.id: each.timestamp for each in metadata.snapshots.values()}

    async def load(self, version: Version, schema: Struct, previous: Loaded | None = None) -> Snapshot:
        """Return the snapshot of a version."""
        manifests = await manifests_of(self._objects, version.snapshot)
        data = [manifest for manifest in manifests if manifest.content == DATA]
        known = dict(previous.manifests) if previous else {}
        fetched = await self._fetch([each for each in data if each.path not in known])
        schemas = {known[each.path].schema for each in data if each.path in known}
        shape, required = await self._objects.decode(
            self._read_with, schema, schemas, [each for each in data if each.path in fetched], fetched
        )
        if previous and _way_of_reading(shape, required) != previous.reading:
            # Statistics contain column names, so all of them are computed again.
            fetched |= await self._fetch([each for each in data if each.path in known])
        made = await self._objects.decode(self._files, data, fetched, shape, required)
        kept = {each.path: made.get(each.path) or known[each.path] for each in data}
        numbered = await self._numbered(shape, kept, previous.numbered if previous else frozenset())
        deletes = await self._deletes(manifests, kept.values(), previous.deletes if previous else {})
        chunks = await anyio.to_thread.run_sync(
            partial(
                _applied,
                [each.files for each in kept.values()],
                deletes.values(),
                version,
                self._objects.budget,
            )
        )
        files = FileSet.of(chunks)
        return Snapshot(
            version.number,
            version.timestamp,
            shape.protocol(deletion_vectors=files.deletion_vectors),
            self._table_metadata(shape, schema),
            files,
            Loaded(
                metadata_of(self._table),
                self._versions,
                shape,
                required,
                kept,
                deletes,
                chunks,
                numbered,
            ),
        )

    async def describe(self, versions: Sequence[Version]) -> list[DescribedVersion]:
        """Return versions without reading their manifests.

        Ones that can't be represented are left out.
        """
        return await anyio.to_thread.run_sync(self._described, versions)

    def _described(self, versions: Sequence[Version]) -> list[DescribedVersion]:
        described: dict[int, tuple[Shape, TableMetadata] | None] = {}
        found = []
        for version in versions:
            schema = self._metadata.schema_of(version.snapshot)
            if id(schema) not in described:
                described[id(schema)] = self._declared(schema)
            if (declared := described[id(schema)]) is not None:
                found.append(_version(version, *declared))
        return found

    def _declared(self, schema: Struct) -> tuple[Shape, TableMetadata] | None:
        try:
            shape, _ = self._read_with(schema, (), (), {})
        except UnsupportedOperation:
            return None
        return shape, self._table_metadata(shape, schema)

    async def _numbered(
        self, shape: Shape, manifests: Mapping[str, KeptManifest], known: frozenset[str]
    ) -> frozenset[str]:
        """Return the manifests whose files were found to contain the field ids that readers use."""
        if shape.by_name or not self._metadata.name_mapping:
            return known & manifests.keys()
        new = [each.files for path, each in manifests.items() if path not in known]
        await check_field_ids(self._objects, new)
        return frozenset(manifests)

    async def _fetch(self, manifests: Iterable[Manifest]) -> dict[str, bytes]:
        paths = [manifest.path for manifest in manifests]
        return dict(zip(paths, await self._objects.read_all(paths), strict=True))

    async def _deletes(
        self,
        manifests: Iterable[Manifest],
        data: Iterable[KeptManifest],
        known: Mapping[tuple[str, int], Deleted],
    ) -> dict[tuple[str, int], Deleted]:
        """Return content of a snapshot's delete files. Known ones are not read again."""
        kept = [manifest for manifest in manifests if manifest.content == DELETES]
        if not kept:
            return {}
        oldest = min((each.files.oldest for each in data if len(each.files)), default=None)
        fetched = await self._fetch(kept)
        files = await self._objects.decode(self._delete_files, kept, fetched, oldest)
        new = [file for file in files if file.key not in known]
        contents = await self._objects.read_all(
            [file.location for file in new], [file.part for file in new]
        )
        parsed = await self._objects.decode(self._parsed, new, contents)
        return {file.key: parsed.get(file.key) or known[file.key] for file in files}

    def _delete_files(
        self, manifests: Iterable[Manifest], fetched: Mapping[str, bytes], oldest: int | None
    ) -> list[DeleteFile]:
        return [
            file
            for manifest in manifests
            for file in delete_files(manifest, fetched[manifest.path], self._objects.budget, oldest)
        ]

    def _parsed(
        self, files: Iterable[DeleteFile], contents: Iterable[bytes]
    ) -> dict[tuple[str, int], Deleted]:
        budget = self._objects.budget
        pairs = zip(files, contents, strict=True)
        return {file.key: parse_deletes(file, data, budget) for file, data in pairs}

    def _read_with(
        self,
        schema: Struct,
        known: Collection[str],
        manifests: Iterable[Manifest],
        fetched: Mapping[str, bytes],
    ) -> tuple[Shape, dict[int, str]]:
        """Return how files are read, based on the schemas of known and fetched manifests."""
        texts = dict.fromkeys(known, "a manifest")
        for manifest in manifests:
            text = schema_of(manifest, fetched[manifest.path], self._objects.budget)
            texts.setdefault(text, manifest.called)
        return way_of_reading(self._metadata, schema, texts, self._objects.budget)

    def _files(
        self,
        manifests: Sequence[Manifest],
        fetched: Mapping[str, bytes],
        shape: Shape,
        required: Mapping[int, str],
    ) -> dict[str, KeptManifest]:
        metrics = metrics_of(shape.columns, shape.physical)
        made = {}
        for manifest in manifests:
            if (content := fetched.get(manifest.path)) is None:
                continue
            with in_file(manifest.called):
                files = data_files(
                    entries_of(manifest, content, self._objects.budget),
                    self._objects,
                    metrics,
                    self._timestamps,
                    required,
                    partition_texts(
                        manifest, content, self._objects.budget, self._metadata.partitioning.specs
                    ),
                )
                text = schema_of(manifest, content, self._objects.budget)
            made[manifest.path] = KeptManifest(text, files)
        return made

    def _table_metadata(self, shape: Shape, schema: Struct) -> TableMetadata:
        declared = declaration_of(schema, self._metadata, self._lineage, self._table.ref)
        return replace(described_by(shape, self._metadata, self._table), iceberg=declared)


def _version(version: Version, shape: Shape, metadata: TableMetadata) -> DescribedVersion:
    deletes = version.snapshot is not None and version.snapshot.deletes
    return DescribedVersion(
        version.number,
        version.timestamp,
        shape.protocol(deletion_vectors=deletes),
        metadata,
        deletion_vectors=deletes,
    )


def metadata_of(table: CatalogTable) -> tuple[str | None, ...]:
    """Return a key of the branch or tag, and the metadata file, even among files of the same name."""
    return table.metadata_location, table.metadata_tag, table.ref


def _way_of_reading(shape: Shape, required: Mapping[int, str]) -> tuple[object, ...]:
    """Return everything, except the manifest, on which the parsed content of a manifest depends."""
    return shape.columns, shape.by_name, frozenset(required)


def _applied(
    files: Sequence[DataFiles], deletes: Collection[Deleted], version: Version, budget: Budget
) -> list[FileChunk]:
    manifest_list = version.snapshot.manifest_list if version.snapshot else None
    if not deletes or manifest_list is None:  # without a list, there are no delete manifests
        return [each.chunk for each in files]
    rows = DeletedRows(deletes, manifest_list, budget)
    return [rows.apply(each) for each in files]
