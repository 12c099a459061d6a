"""Counts deletions of a purge over all attempts."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.api import DelegatedTask, TaskFailed, TaskProgress, TaskRun
from sluicegate_spark.purge.deletion import Deletion


@dataclass(slots=True)
class DeletionProgress:
    """Counts deletions, and reports them.

    Attributes:
        size: Total bytes of these files.
    """

    run: TaskRun
    files: int = 0
    size: int = 0
    total: int | None = None

    @classmethod
    def resumed(cls, task: DelegatedTask, run: TaskRun) -> DeletionProgress:
        """Continue with the counts of earlier attempts."""
        before = task.progress
        return (
            cls(run)
            if before is None
            else cls(run, before.files_done, before.bytes_done, before.files_total)
        )

    def expect(self, stage: str, files: int) -> None:
        """Set the total number of files, including those deleted before."""
        self.total = max(files, self.files)
        self.report(stage)

    def add(self, stage: str, done: Deletion) -> None:
        """Add the outcome of a deletion."""
        self.files += done.deleted
        self.size += done.size
        if self.total is not None:
            self.total = max(self.total, self.files)
        self.report(stage)

    def report(self, stage: str) -> None:
        """Report progress."""
        self.run.report(TaskProgress(stage, self.files, self.total, self.size))


def check_all_gone(stage: str, done: Deletion) -> None:
    """Ensure that a stage has deleted all of its files."""
    if done.left:
        raise TaskFailed(
            f"{done.left:,} of {done.seen:,} files of the stage '{stage}' could not be deleted, "
            f"for example '{done.example}' ({done.reason}); the table's metadata is kept, and the "
            "next attempt continues from here",
            error_code="STORAGE_FAILED",
            retryable=True,
        )
