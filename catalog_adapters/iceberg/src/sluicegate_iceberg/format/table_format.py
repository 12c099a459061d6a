"""The table format `iceberg`. Arrow and Avro are imported by `preload`, or by the first read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from sluicegate.api import CatalogTable, ObjectDirectory, TableFormat, TableUnreadable
from sluicegate_iceberg.format.known_steps import KnownSteps

if TYPE_CHECKING:
    from sluicegate.formats import Changes, DescribedVersion, Snapshot
    from sluicegate_iceberg.format.lineage import Lineage
    from sluicegate_iceberg.format.loading import Loader
    from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata

_MODULES = ("broken", "changes", "lineage", "loading", "metadata", "objects")


class IcebergFormat(TableFormat):
    """Reads Iceberg tables of format versions 1 to 3 (Iceberg specification).

    `CatalogTable.metadata_location` names the current metadata file. An unchanged table therefore
    needs no requests, and a changed one needs its metadata file, its manifest list and the new
    manifests.
    """

    reads_refs = True

    def __init__(self) -> None:
        self._steps = KnownSteps()

    def preload(self) -> None:
        """Import what reads snapshots and changes."""
        for name in _MODULES:
            import_module(f"sluicegate_iceberg.format.{name}")

    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        """See `TableFormat.latest`. The schema is the table's current one, except at a tag."""
        from sluicegate_iceberg.format.loading import Loaded, metadata_of

        kept = previous.state if previous else None
        if previous and isinstance(kept, Loaded):
            if kept.metadata == metadata_of(table):
                return previous
        else:
            kept = None
        _, lineage, loader = await _opened(table, directory)
        return await loader.load(lineage.latest, lineage.schema, kept)

    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        """See `TableFormat.at_version`. The schema is the one that the snapshot names."""
        metadata, lineage, loader = await _opened(table, directory)
        found = lineage.at(version)
        return await loader.load(found, metadata.schema_of(found.snapshot))

    def still_has(self, latest: Snapshot, version: int) -> bool:
        """See `TableFormat.still_has`. Versions can expire or be rolled back."""
        from sluicegate_iceberg.format.loading import Loaded

        return isinstance(latest.state, Loaded) and version in latest.state.versions

    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        timestamp: int,
        *,
        earliest_after: bool,
    ) -> int:
        """See `TableFormat.version_at`."""
        _, lineage, _ = await _opened(table, directory)
        found = lineage.since(timestamp) if earliest_after else lineage.until(timestamp)
        return found.number

    async def earlier_versions(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        limit: int,
    ) -> Sequence[DescribedVersion]:
        """See `TableFormat.earlier_versions`. They are in the metadata file."""
        _, lineage, loader = await _opened(table, directory)
        numbers = [each for each in lineage.versions if start <= each.number < latest.version]
        return await loader.describe(numbers[-limit:])

    async def changes(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        end: int,
    ) -> Changes:
        """See `TableFormat.changes`."""
        from sluicegate_iceberg.format.changes import Snapshots, changes_between

        metadata, lineage, loader = await _opened(table, directory)
        snapshots = Snapshots(metadata, loader, latest)
        return await changes_between(table.id, metadata, lineage, snapshots, self._steps, start, end)

    async def derived(self, table: CatalogTable, directory: ObjectDirectory, recipe: str) -> bytes:
        """See `TableFormat.derived`. Used for deletion vectors that are too large for a response."""
        from sluicegate_iceberg.format.deletes.derived import make_vector_file
        from sluicegate_iceberg.format.deletes.recipes import parse_recipe
        from sluicegate_iceberg.format.objects import TableObjects

        return await make_vector_file(TableObjects(table, directory), parse_recipe(recipe))


async def _opened(
    table: CatalogTable, directory: ObjectDirectory
) -> tuple[IcebergMetadata, Lineage, Loader]:
    from sluicegate_iceberg.format.broken import named
    from sluicegate_iceberg.format.lineage import Lineage
    from sluicegate_iceberg.format.loading import Loader
    from sluicegate_iceberg.format.metadata.metadata_file import parse_metadata
    from sluicegate_iceberg.format.objects import TableObjects

    def parsed(data: bytes, location: str) -> tuple[IcebergMetadata, Lineage]:
        metadata = parse_metadata(data, objects.budget, named("metadata file", location))
        return metadata, Lineage(metadata, table.ref)

    if table.metadata_location is None:
        raise TableUnreadable(
            "the catalog reports no metadata file of the Iceberg table; ask the catalog's operator"
        )
    objects = TableObjects(table, directory)
    data = await objects.read(table.metadata_location)
    metadata, lineage = await objects.decode(parsed, data, table.metadata_location)
    return metadata, lineage, Loader(table, metadata, lineage, objects)
