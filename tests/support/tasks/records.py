"""Records of tasks, made without a database."""

from __future__ import annotations

from typing import Any

from sluicegate.delegation.queue.records import TaskRecord

PAYLOAD = {
    "operation_parameters": {
        "table_identity": {
            "table_entity_id": "e1",
            "catalog_name": "lake",
            "namespace_levels": ["sales", "emea"],
            "table_name": "orders",
        }
    }
}


def task_record(**changes: Any) -> TaskRecord:
    """A submitted task, with other values where given."""
    values: dict[str, Any] = {
        "id": "t1",
        "version": 1,
        "parent_id": None,
        "operation": "TABLE_PURGE",
        "realm": "default",
        "correlation_id": None,
        "submitted_by": "polaris",
        "digest": b"digest",
        "priority": 5,
        "payload": PAYLOAD,
        "sealed": None,
        "status": "SUBMITTED",
        "received_at": 1_000,
        "created_at": 1_000,
        "status_changed_at": 1_000,
        "attempt_count": 0,
        "lease_acquired_at": None,
        "leased_by": None,
        "due_at": 1_000,
        "cancel_requested_at": None,
        "stages": (),
        "progress": None,
        "result": None,
        "error_code": None,
        "result_summary": None,
        "result_extended": None,
        "trace_context": None,
    }
    return TaskRecord(**(values | changes))
