"""Reads Delta logs in parts, so that several machines can share the work, and none needs all files."""

from __future__ import annotations

from sluicegate.tables.delta.parts.actions import LOG_ACTIONS, check_added_files, read_log_part
from sluicegate.tables.delta.parts.version import DeltaVersion, LogPart, latest_delta_version

__all__ = [
    "LOG_ACTIONS",
    "DeltaVersion",
    "LogPart",
    "check_added_files",
    "latest_delta_version",
    "read_log_part",
]
