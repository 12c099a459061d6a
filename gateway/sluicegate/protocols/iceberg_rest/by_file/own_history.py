"""Parts of an Iceberg table's own history: which of its specs and references a recipient can see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate.api import SharedTable
from sluicegate.protocols.iceberg_rest.planning.own_partitions import OwnPartitions
from sluicegate.protocols.iceberg_rest.view import TableView, snapshot_id
from sluicegate.tables.partitions import partition_texts

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
    """The branches and tags of a table that is shared entirely, as in metadata.

    Args:
        view: The latest version.
        listed: Ids of the snapshots in the metadata. Others are not shared, nor are their names.
    """
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
