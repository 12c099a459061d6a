"""The failure of a task whose copy cannot be made."""

from __future__ import annotations

from sluicegate.api import TaskFailed


def unfit(why: str) -> TaskFailed:
    """Return the failure of a copy whose configuration does not fit its sources. It is final."""
    return TaskFailed(f"the copy cannot be made: {why}", error_code="INVALID_PAYLOAD")
