"""A task as it is stored (polaris-delegation-service.md, "Delegation Service Task Schema")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import Row

from sluicegate.delegation.states import ENDED, LEASED, Status


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """The newest version of a task's record. Times are epoch milliseconds.

    Attributes:
        version: Counts the transitions; whoever changes the state names the one that it has seen.
        submitted_by: The client that handed it over.
        digest: SHA-256 of what was asked, without credentials: tells a repeat from another request.
        priority: 1 is first, 9 is last.
        payload: What was asked, without anything that may be secret.
        sealed: The rest of it, encrypted, until the task ends.
        due_at: When a worker may take it: at once, for its retry, or because its lease is lost then.
        stages: Finished ones.
        result: Of a task that succeeded.
        result_extended: For operators.
    """

    id: str
    version: int
    parent_id: str | None
    operation: str
    realm: str
    correlation_id: str | None
    submitted_by: str
    digest: bytes = field(repr=False)
    priority: int
    payload: Mapping[str, Any]
    sealed: bytes | None = field(repr=False)
    status: Status
    received_at: int
    created_at: int
    status_changed_at: int
    attempt_count: int
    lease_acquired_at: int | None
    leased_by: str | None
    due_at: int | None
    cancel_requested_at: int | None
    stages: tuple[str, ...]
    progress: Mapping[str, Any] | None
    result: Mapping[str, Any] | None
    error_code: str | None
    result_summary: str | None
    result_extended: str | None

    @classmethod
    def of(cls, row: Row[Any]) -> TaskRecord:
        """The record in a row of the table `tasks`."""
        values = row._mapping
        stored = {each.name: values[each.name] for each in fields(cls)}
        return cls(**(stored | {"stages": tuple(values["stages"])}))

    @property
    def table(self) -> str:
        """The table's name in its catalog, for people."""
        named = self.payload["operation_parameters"]["table_identity"]
        return ".".join((named["catalog_name"], *named["namespace_levels"], named["table_name"]))

    def __str__(self) -> str:
        """The task as log lines name it."""
        return f"task {self.id} ({self.operation} of {self.table})"

    @property
    def ended(self) -> bool:
        """Whether nothing will be done any more."""
        return self.status in ENDED

    def follows(self, before: TaskRecord) -> bool:
        """Whether this is the next version of a leased record, by the holder of the same lease."""
        lease = (before.leased_by, before.lease_acquired_at)
        return self.version == before.version + 1 and (self.leased_by, self.lease_acquired_at) == lease

    @property
    def leased(self) -> bool:
        """Whether a worker has it, or had it when it was lost."""
        return self.status in LEASED


@dataclass(frozen=True, slots=True)
class TaskVersion:
    """One row of a task's history."""

    version: int
    status: Status
    attempt_count: int
    status_changed_at: int
    leased_by: str | None
    due_at: int | None
    error_code: str | None
    result_summary: str | None

    @classmethod
    def of(cls, row: Row[Any]) -> TaskVersion:
        """The version in a row of the table `task_versions`."""
        return cls(**{each.name: row._mapping[each.name] for each in fields(cls)})
