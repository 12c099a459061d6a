"""Checks that the catalog still has the task's table, and not another one with the same name."""

from __future__ import annotations

from sluicegate.api import DelegatedTask
from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.old_metadata import OldMetadata
from sluicegate_spark.purge.stages import table_of


def is_requested_table(task: DelegatedTask, location: str, history: History, old: OldMetadata) -> bool:
    """Return whether a table is the task's, by the uuid in the payload or from earlier attempts.

    If no uuid is known, metadata files decide: a table that other writers changed meanwhile once had
    the metadata file from which earlier attempts started or that the payload names. A table that was
    dropped and created again never had it.
    """
    wanted = (task.metadata or {}).get("table-uuid")
    if wanted is not None and history.table_uuid is not None:
        return bool(wanted == history.table_uuid)
    begun = set(map(table_of, task.stages))
    if begun and history.table_uuid is not None:
        return {table_uuid for _, table_uuid in begun} == {history.table_uuid}
    named = {metadata for metadata, _ in begun}
    if not named and task.metadata_location is not None:
        named = {_name(task.metadata_location)}
    return named <= {_name(each) for each in (location, *old.files, *old.links)}


def _name(location: str) -> str:
    return location.rpartition("/")[2]
