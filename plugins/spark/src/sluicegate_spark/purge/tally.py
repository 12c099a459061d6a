"""What a purge has deleted so far, over all attempts."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.api import DelegatedTask, TaskFailed, TaskProgress, TaskRun
from sluicegate_spark.purge.deletion import Deletion


@dataclass(slots=True)
class Tally:
    """Counts deletions, and reports them.

    Attributes:
        files: Files that were deleted, by all attempts together.
        size: Their bytes.
        total: Files that the table has, once that is known.
    """

    run: TaskRun
    files: int = 0
    size: int = 0
    total: int | None = None

    @classmethod
    def resumed(cls, task: DelegatedTask, run: TaskRun) -> Tally:
        """Go on from what earlier attempts have counted."""
        before = task.progress
        return (
            cls(run)
            if before is None
            else cls(run, before.files_done, before.bytes_done, before.files_total)
        )

    def expect(self, stage: str, files: int) -> None:
        """So many files are there at all, those of before included."""
        self.total = max(files, self.files)
        self.report(stage)

    def add(self, stage: str, done: Deletion) -> None:
        """Something was deleted."""
        self.files += done.deleted
        self.size += done.size
        if self.total is not None:
            self.total = max(self.total, self.files)
        self.report(stage)

    def report(self, stage: str) -> None:
        """Show it."""
        self.run.report(TaskProgress(stage, self.files, self.total, self.size))


def check_all_gone(stage: str, done: Deletion) -> None:
    """A stage ends only when nothing of it is left.

    Raises:
        TaskFailed: Something is (`STORAGE_FAILED`, to be tried again).
    """
    if done.left:
        raise TaskFailed(
            f"{done.left:,} of {done.seen:,} files of the stage '{stage}' could not be deleted, for "
            f"example '{done.example}' ({done.reason}); the table's metadata is kept, and the next "
            "attempt goes on from here",
            error_code="STORAGE_FAILED",
            retryable=True,
        )
