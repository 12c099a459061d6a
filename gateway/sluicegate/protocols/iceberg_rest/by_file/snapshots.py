"""Which snapshots, specs and references of a table its metadata lists for a recipient."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sluicegate.api import SharedTable, UnsupportedOperation
from sluicegate.protocols.common.shared_scope import shared_partitions
from sluicegate.protocols.iceberg_rest.by_file.viewer import MakePaths, MakeShape
from sluicegate.protocols.iceberg_rest.file_access.generated_links import MANIFEST_LIST
from sluicegate.protocols.iceberg_rest.planning.partitions import OwnPartitions
from sluicegate.protocols.iceberg_rest.planning.specs import partition_specs
from sluicegate.protocols.iceberg_rest.view import TableView, snapshot_id
from sluicegate.tables.iceberg.metadata import ListedSnapshot
from sluicegate.tables.iceberg.shape import IcebergShape, Type, children
from sluicegate.tables.partitions import partition_texts
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.versions import DescribedVersion

_MAIN = "main"


def hidden_specs(view: TableView) -> set[int]:
    """The ids of specs of former versions, if the history is not shared.

    The spec of new files is visible, and those of the files that the recipient can see.
    """
    own = view.shape.own
    if own is None or view.table.shared.history:
        return set()
    partitions = OwnPartitions(own)
    used = {partitions.of(text).spec.id for text in partition_texts(view.in_memory().files)}
    return {spec.id for spec in own.specs} - used - {own.default_spec, own.unpartitioned}


def references(view: TableView, listed: set[int]) -> dict[str, Mapping[str, Any]]:
    """The branches and tags of a table that is shared entirely, as in metadata."""
    declared = view.snapshot.metadata.iceberg
    if declared is None or not _entire(view.table.shared):
        return {}
    return {
        name: {"snapshot-id": snapshot_id(version), "type": "tag" if is_tag else "branch"}
        for name, (version, is_tag) in declared.refs.items()
        if name != _MAIN and snapshot_id(version) in listed
    }


def _entire(shared: SharedTable) -> bool:
    """Whether a table is shared with all of its versions and partitions."""
    limited = shared.ref is not None or shared.partition_filter is not None or shared.start_version
    return shared.history and not limited


_Path = tuple[str, ...]


class SnapshotList:
    """Snapshots of a table, and the partition specs of their files.

    All snapshots share one mapping of names in files to field ids. The partition fields of all specs
    refer to the current schema. A snapshot that contradicts a later one is left out.
    """

    def __init__(self, latest: ListedSnapshot, hidden_specs: Collection[int] = ()) -> None:
        self._hidden_specs = hidden_specs
        self._columns = {each.id: each.type for each in latest.shape.schema.fields}
        self._newest_first = [latest]
        self._ids = dict(_names(latest.shape.schema))
        self._specs = self._specs_of(latest.shape)

    @property
    def snapshots(self) -> Sequence[ListedSnapshot]:
        """The snapshots in ascending order."""
        return self._newest_first[::-1]

    @property
    def specs(self) -> Sequence[Mapping[str, Any]]:
        """The partition specs. The first one has all partition fields of the current snapshot."""
        return list(self._specs.values())

    def add_earlier(self, snapshot: ListedSnapshot) -> None:
        """Add a snapshot that is older than all others, unless it contradicts one of them.

        Its timestamp is not later than that of the next one: clients reject metadata otherwise.
        """
        later = self._newest_first[-1]
        if snapshot.shape is later.shape or self._extend(snapshot.shape):
            timestamp = min(snapshot.timestamp, later.timestamp)
            self._newest_first.append(replace(snapshot, timestamp=timestamp))

    def _extend(self, shape: IcebergShape) -> bool:
        """Add names and specs. `False` if a name has another id, or if a spec does not fit."""
        if any(
            self._columns.get(field.source.id) != field.source.type for field in shape.partition_fields
        ):
            return False
        ids = dict(_names(shape.schema))
        specs = self._specs_of(shape)
        if any(self._ids.get(path, id_) != id_ for path, id_ in ids.items()):
            return False
        if any(self._specs.get(id_, spec) != spec for id_, spec in specs.items()):
            return False  # two sets of columns have the same hash, or a column was renamed
        self._ids |= ids
        self._specs |= specs
        return True

    def _specs_of(self, shape: IcebergShape) -> dict[int, Mapping[str, Any]]:
        specs = {each["spec-id"]: each for each in partition_specs(shape)}
        return {id_: spec for id_, spec in specs.items() if id_ not in self._hidden_specs}


def _names(type_: Type, parent: _Path = ()) -> Iterator[tuple[_Path, int]]:
    """The ids of fields by the paths of their names in files."""
    for each in children(type_):
        path = (*parent, each.physical_name)
        yield path, each.id
        yield from _names(each.type, path)


class ListedVersions:
    """Lists the snapshots that a recipient can read."""

    def __init__(self, reader: TableReader, shape: MakeShape, paths: MakePaths, limit: int) -> None:
        self._reader = reader
        self._shape = shape
        self._paths = paths
        self._limit = limit

    def latest(self, view: TableView) -> SnapshotList:
        """Only the snapshot of a view of the latest version."""
        [manifest_list] = view.paths.of([MANIFEST_LIST])
        snapshot = view.snapshot
        return SnapshotList(
            ListedSnapshot(
                snapshot_id(snapshot.version), snapshot.timestamp, view.shape, manifest_list
            ),
            hidden_specs(view),
        )

    async def all(self, view: TableView) -> SnapshotList:
        """The snapshot of a view of the latest version, and the earlier ones that are shared.

        Versions are left out if Iceberg cannot express them, or not together with later ones.
        """
        listing, table = self.latest(view), view.table
        if not table.shared.history or self._limit == 1:
            return listing
        versions = await self._reader.earlier_versions(
            table.source,
            table.directory,
            view.head(),
            table.shared.start_version,
            self._limit - 1,
        )
        shapes = await self._shapes(view, versions)
        for version, shape in zip(reversed(versions), reversed(shapes), strict=True):
            if shape is not None:
                listing.add_earlier(self._snapshot(view, version, shape))
        return listing

    async def _shapes(
        self, view: TableView, versions: Sequence[DescribedVersion]
    ) -> list[IcebergShape | None]:
        """The shapes of versions, in ascending order, so that new columns get higher ids."""
        shapes: list[IcebergShape | None] = []
        before: DescribedVersion | None = None
        for version in versions:
            if before is None or not _same_shape(before, version):
                shapes.append(await self._shape_of(view, version))
            else:
                shapes.append(shapes[-1])
            before = version
        return shapes

    async def _shape_of(self, view: TableView, version: DescribedVersion) -> IcebergShape | None:
        table = view.table
        try:
            shared_partitions(table.shared, table.principal, version.metadata)
            return await self._shape(table, version)
        except UnsupportedOperation:
            return None

    def _snapshot(
        self, view: TableView, version: DescribedVersion, shape: IcebergShape
    ) -> ListedSnapshot:
        paths = self._paths(view.table, version.version, None)
        [manifest_list] = paths.of([MANIFEST_LIST])
        return ListedSnapshot(snapshot_id(version.version), version.timestamp, shape, manifest_list)


def _same_shape(one: DescribedVersion, other: DescribedVersion) -> bool:
    """Whether both have the same schema, partitioning and features. Formats share these objects."""
    return (
        one.metadata is other.metadata
        and one.protocol is other.protocol
        and one.deletion_vectors == other.deletion_vectors
    )
