"""The processes of `sluicegate serve --processes`: a supervisor, its fork server, and the workers."""

from __future__ import annotations

import psutil


def workers_of(supervisor: int) -> set[int]:
    """The ids of running workers, of all fork servers if processes are being replaced."""
    return {worker for server in running_children(supervisor) for worker in running_children(server)}


def running_children(pid: int) -> set[int]:
    """The ids of running processes that a process has started."""
    try:
        children = psutil.Process(pid).children()
    except psutil.NoSuchProcess:  # it ended after it was listed
        return set()
    return {child.pid for child in children if is_running(child.pid)}


def is_running(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
