"""Reads the Iceberg table to convert, with the Iceberg adapter and the task's credentials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sluicegate.api import CatalogTable, ObjectDirectory, TaskFailed
from sluicegate.formats import Snapshot, without_partitions
from sluicegate_iceberg.format.lineage import Lineage
from sluicegate_iceberg.format.manifests.manifest_files import Manifest, manifests_of
from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata, parse_metadata
from sluicegate_iceberg.format.objects import TableObjects
from sluicegate_iceberg.format.table_format import IcebergFormat
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.tables import Table


@dataclass(frozen=True, slots=True)
class IcebergSource:
    """An Iceberg table at its current metadata file."""

    table: CatalogTable
    directory: ObjectDirectory
    metadata_location: str
    metadata: IcebergMetadata
    lineage: Lineage

    @property
    def id(self) -> str:
        """Return the table's uuid, or its location if it has none."""
        return self.metadata.table_uuid or self.table.location

    async def snapshot(self) -> Snapshot:
        """Return the current snapshot, in the form in which the gateway shares it."""
        snapshot = await IcebergFormat().latest(self.table, self.directory, None)
        # A converted table has no partition columns, because its data files contain all columns.
        files = replace(snapshot.files, table=without_partitions(snapshot.files.table))
        return replace(snapshot, files=files)

    async def manifests(self) -> Sequence[Manifest]:
        """Return the manifests of the current snapshot."""
        objects = TableObjects(self.table, self.directory)
        return await manifests_of(objects, self.lineage.latest.snapshot)

    async def at(self, metadata_location: str) -> IcebergSource:
        """Return the table at another metadata file in its directories; see `iceberg_source`."""
        return await _at(self.table, self.directory, metadata_location)

    async def derived(self, recipe: str) -> bytes:
        """See `TableFormat.derived`."""
        return await IcebergFormat().derived(self.table, self.directory, recipe)


async def iceberg_source(table: Table, objects: ObjectAccess) -> IcebergSource:
    """Return the Iceberg table of a task."""
    if table.metadata_location is None:
        raise TaskFailed(
            "the task does not contain the location of the Iceberg table's metadata: set "
            "metadata_location, or configure the catalog for the executor",
            error_code="INVALID_PAYLOAD",
        )
    described = CatalogTable(
        table.location, "iceberg", table.location, metadata_location=table.metadata_location
    )
    directory = objects.directory(table.location)
    return await _at(described, directory, table.metadata_location)


async def _at(table: CatalogTable, directory: ObjectDirectory, location: str) -> IcebergSource:
    metadata = parse_metadata(await TableObjects(table, directory).read(location))
    return IcebergSource(table, directory, location, metadata, Lineage(metadata))
