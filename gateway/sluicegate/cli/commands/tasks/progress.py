"""The progress of a task as commands print it."""

from __future__ import annotations

from sluicegate.cli.management.target import Content


def progress_of(progress: Content | None) -> str:
    """The stage with the numbers of files."""
    if progress is None:
        return "-"
    stage, done, total = (progress[name] for name in ("stage", "files_done", "files_total"))
    if total is None:
        return f"{stage} {done}" if done else str(stage)
    return f"{stage} {done}/{total}"
