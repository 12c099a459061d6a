"""Models of a stored task (Polaris delegation proposal, "Delegation Service Task Schema")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from sqlalchemy import Row

from sluicegate._util.clock import iso_utc

Status = Literal["SUBMITTED", "ACQUIRING_RESOURCES", "RUNNING", "RETRY_SCHEDULED", "SUCCESS", "FAILURE"]
STATUSES: tuple[Status, ...] = get_args(Status)
LEASED: frozenset[Status] = frozenset({"ACQUIRING_RESOURCES", "RUNNING"})
ENDED: frozenset[Status] = frozenset({"SUCCESS", "FAILURE"})
UNFINISHED: frozenset[Status] = frozenset(STATUSES) - ENDED

# When a lost lease is taken over, a leased state leads back to its beginning.
_NEXT: Mapping[Status, frozenset[Status]] = {
    "SUBMITTED": frozenset({"ACQUIRING_RESOURCES", "FAILURE"}),
    "ACQUIRING_RESOURCES": frozenset({"ACQUIRING_RESOURCES", "RUNNING", "RETRY_SCHEDULED", "FAILURE"}),
    "RUNNING": frozenset({"ACQUIRING_RESOURCES", "RETRY_SCHEDULED", "SUCCESS", "FAILURE"}),
    "RETRY_SCHEDULED": frozenset({"ACQUIRING_RESOURCES", "FAILURE"}),
    "SUCCESS": frozenset(),
    "FAILURE": frozenset({"SUBMITTED"}),
}

# Names in "Asynchronous Task Submission & Status Endpoints".
_ASYNCHRONOUS_NAMES: Mapping[Status, str] = {"SUBMITTED": "QUEUED", "RUNNING": "PROCESSING"}


def may_follow(before: Status, after: Status) -> bool:
    """Return whether a task can go from one state to the other."""
    return after in _NEXT[before]


def asynchronous_name(status: Status) -> str:
    """Return the name of a state in the proposal's asynchronous API."""
    return _ASYNCHRONOUS_NAMES.get(status, status)


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """The newest version of a task's record. Times are in epoch milliseconds."""

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
    trace_context: str | None
    schedule: str | None = None
    firing_id: str | None = None
    start_by: int | None = None

    @classmethod
    def of(cls, row: Row[Any]) -> TaskRecord:
        """Return the record in a row of the table `tasks`."""
        values = row._mapping
        stored = {each.name: values[each.name] for each in fields(cls)}
        return cls(**(stored | {"stages": tuple(values["stages"])}))

    @property
    def table(self) -> str:
        """Return the table's name in its catalog, for display."""
        named = self.payload["operation_parameters"]["table_identity"]
        return ".".join((named["catalog_name"], *named["namespace_levels"], named["table_name"]))

    def __str__(self) -> str:
        """Return the description of the task in log lines."""
        return f"task {self.id} ({self.operation} of {self.table})"

    @property
    def outcome(self) -> str:
        """Return a description of the state to which an attempt led."""
        if self.status == "SUCCESS":
            return f"SUCCESS: {self.result_summary}"
        if self.status == "RETRY_SCHEDULED" and self.due_at is not None:
            return f"RETRY_SCHEDULED for {iso_utc(self.due_at)}"
        return self.status

    @property
    def ended(self) -> bool:
        """Return whether the task is in a final state."""
        return self.status in ENDED

    def follows(self, before: TaskRecord) -> bool:
        """Return whether this is the next version of a leased record, with the same lease holder."""
        lease = (before.leased_by, before.lease_acquired_at)
        return self.version == before.version + 1 and (self.leased_by, self.lease_acquired_at) == lease

    @property
    def leased(self) -> bool:
        """Return whether a worker has the task, or had it when the lease was lost."""
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
        """Return the version in a row of the table `task_versions`."""
        return cls(**{each.name: row._mapping[each.name] for each in fields(cls)})
