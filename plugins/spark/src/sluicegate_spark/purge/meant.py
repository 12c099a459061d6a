"""Whether the catalog still shows the table that was meant: its name may be another one's by now."""

from __future__ import annotations

from sluicegate.api import DelegatedTask
from sluicegate_spark.purge.chain import OldMetadata
from sluicegate_spark.purge.history import History
from sluicegate_spark.purge.stages import table_of


def is_meant(task: DelegatedTask, location: str, history: History, old: OldMetadata) -> bool:
    """Whether a table is the task's: by the uuid that the payload or earlier attempts have of it.

    Where nobody has one, a table that other writers have changed meanwhile had the metadata file that
    earlier attempts began with, or that the payload names; one that was created anew never had.

    Args:
        task: What was handed over, and what earlier attempts have done.
        location: The table's current metadata file.
        history: What that says.
        old: The metadata files before it.
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
