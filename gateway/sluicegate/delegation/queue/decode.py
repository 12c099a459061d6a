"""Decrypts a stored task for its executor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate.api.delegation.tasks import DelegatedTask, TableIdentity, TaskProgress
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.records import TaskRecord


def open_task(record: TaskRecord, cipher: PayloadCipher) -> DelegatedTask:
    """Return the task of a leased record."""
    parameters: Mapping[str, Any] = record.payload["operation_parameters"]
    table = parameters["table_identity"]
    further = {} if record.sealed is None else dict(cipher.decrypt(record.sealed))
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
