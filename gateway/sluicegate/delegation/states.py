"""The states of a task, and which may follow which (polaris-delegation-service.md, "Status Enum")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Status = Literal["SUBMITTED", "ACQUIRING_RESOURCES", "RUNNING", "RETRY_SCHEDULED", "SUCCESS", "FAILURE"]
STATUSES: tuple[Status, ...] = get_args(Status)
LEASED: frozenset[Status] = frozenset({"ACQUIRING_RESOURCES", "RUNNING"})
ENDED: frozenset[Status] = frozenset({"SUCCESS", "FAILURE"})
UNFINISHED: frozenset[Status] = frozenset(STATUSES) - ENDED

# A lost lease is taken over: that leads from a leased state to its beginning.
_NEXT: Mapping[Status, frozenset[Status]] = {
    "SUBMITTED": frozenset({"ACQUIRING_RESOURCES", "FAILURE"}),
    "ACQUIRING_RESOURCES": frozenset({"ACQUIRING_RESOURCES", "RUNNING", "RETRY_SCHEDULED", "FAILURE"}),
    "RUNNING": frozenset({"ACQUIRING_RESOURCES", "RETRY_SCHEDULED", "SUCCESS", "FAILURE"}),
    "RETRY_SCHEDULED": frozenset({"ACQUIRING_RESOURCES", "FAILURE"}),
    "SUCCESS": frozenset(),
    "FAILURE": frozenset({"SUBMITTED"}),
}

# What "Asynchronous Task Submission & Status Endpoints" calls them.
_ASYNCHRONOUS_NAMES: Mapping[Status, str] = {"SUBMITTED": "QUEUED", "RUNNING": "PROCESSING"}


def may_follow(before: Status, after: Status) -> bool:
    """Whether a task may go from one state to the other."""
    return after in _NEXT[before]


def asynchronous_name(status: Status) -> str:
    """The state in the words of the document's asynchronous API."""
    return _ASYNCHRONOUS_NAMES.get(status, status)
