"""Collects snapshots that the metadata of one table can contain together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sluicegate.protocols.iceberg_rest.planning.specs import partition_specs
from sluicegate.tables.iceberg.metadata import ListedSnapshot
from sluicegate.tables.iceberg.shape import IcebergShape, Type, children

_Path = tuple[str, ...]


class SnapshotList:
    """Snapshots of a table, and the partition specs of their files.

    All snapshots share one mapping of names in files to field ids. The partition fields of all specs
    refer to the current schema. A snapshot that contradicts a later one is left out.

    Args:
        latest: The current snapshot.
        hidden_specs: Ids of specs that are left out.
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
