"""Reads the tables to convert: the gateway's own readers, with the task's credentials."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.api import CatalogTable, NotFound, ObjectDirectory, TaskFailed
from sluicegate.formats import DeltaFormat, Snapshot
from sluicegate_iceberg.format.metadata import IcebergMetadata, parse_metadata
from sluicegate_iceberg.format.objects import TableObjects
from sluicegate_iceberg.format.table_format import IcebergFormat
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.tables import Table


@dataclass(frozen=True, slots=True)
class IcebergSource:
    """An Iceberg table at its current metadata file.

    Attributes:
        metadata_location: Of that file.
        metadata: What it says.
    """

    table: CatalogTable
    directory: ObjectDirectory
    metadata_location: str
    metadata: IcebergMetadata

    @property
    def id(self) -> str:
        """The table's own id."""
        return self.metadata.table_uuid or self.table.location

    async def snapshot(self) -> Snapshot:
        """The current snapshot as a Delta table, with what recipients of it see.

        Raises:
            UnsupportedOperation: It cannot be said exactly.
            TableUnreadable: Metadata is broken or missing.
        """
        return await IcebergFormat().latest(self.table, self.directory, None)

    async def derived(self, recipe: str) -> bytes:
        """See `TableFormat.derived`."""
        return await IcebergFormat().derived(self.table, self.directory, recipe)


async def iceberg_source(table: Table, objects: ObjectAccess) -> IcebergSource:
    """The Iceberg table of a task.

    Raises:
        TaskFailed: The task does not say where its metadata is.
        TableUnreadable: Its metadata file is missing or broken.
    """
    if table.metadata_location is None:
        raise TaskFailed(
            "the task does not say where the Iceberg table's metadata is: it needs metadata_location, "
            "or a catalog that is configured for the executor",
            error_code="INVALID_PAYLOAD",
        )
    described = CatalogTable(
        table.location, "iceberg", table.location, metadata_location=table.metadata_location
    )
    directory = opened(objects, table.location)
    data = await TableObjects(described, directory).read(table.metadata_location)
    return IcebergSource(described, directory, table.metadata_location, parse_metadata(data))


async def delta_snapshot(objects: ObjectAccess, location: str) -> Snapshot | None:
    """The Delta table in a directory; `None` where there is none.

    Raises:
        TableUnreadable: Its log is broken, or needs what is not known here.
        StorageError: The store does not answer or refuses.
    """
    try:
        return await DeltaFormat().latest(
            CatalogTable(location, "delta", location), opened(objects, location), None
        )
    except NotFound:
        return None


def opened(objects: ObjectAccess, location: str) -> ObjectDirectory:
    """A directory, for reading and writing."""
    store, prefix = objects.open(location)
    return ObjectDirectory(store, prefix.strip("/"))
