"""States of a task and their transitions (Polaris delegation proposal, "Status Enum")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

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
