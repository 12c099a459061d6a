"""A stored task, as its executor sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate.delegation.records import TaskRecord
from sluicegate.delegation.sealing import Seal
from sluicegate.executors import DelegatedTask, TableIdentity, TaskProgress


def open_task(record: TaskRecord, seal: Seal) -> DelegatedTask:
    """The task of a leased record.

    Raises:
        TaskFailed: The payload was sealed by a key that is not known any more.
    """
    parameters: Mapping[str, Any] = record.payload["operation_parameters"]
    table = parameters["table_identity"]
    further = {} if record.sealed is None else dict(seal.open(record.sealed))
    return DelegatedTask(
        id=record.id,
        operation=record.operation,
        realm=record.realm,
        table=TableIdentity(
            table["table_entity_id"],
            table["catalog_name"],
            tuple(table["namespace_levels"]),
            table["table_name"],
        ),
        attempt=record.attempt_count,
        correlation_id=record.correlation_id,
        stages=record.stages,
        progress=None if record.progress is None else TaskProgress(**record.progress),
        properties=parameters.get("properties", {}),
        metadata_location=parameters.get("metadata_location"),
        metadata=further.pop("metadata", None),
        config=further.pop("config", None),
        further=further,
    )
