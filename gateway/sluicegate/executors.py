"""What executors of long tasks implement, and what the delegation service gives to them.

Plugins get all of it from `api`. Source: polaris-delegation-service.md, "Persistence" and "Task Retry".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sluicegate.errors import SluicegateError
from sluicegate.realm_grants import RealmGrant

TaskErrorCode = Literal[
    "INVALID_PAYLOAD",
    "NOT_GRANTED",
    "CREDENTIAL_VENDING_FAILED",
    "STORAGE_FAILED",
    "ENGINE_FAILED",
    "INVALID_RESULT",
    "INTERNAL_ERROR",
]


class TaskFailed(SluicegateError):
    """A task cannot go on.

    What else an executor raises is judged by its kind: `Unavailable` (and so `StorageError`) is a
    transient failure of a store, another `SluicegateError` is terminal, and what nobody foresaw is
    tried again (`INTERNAL_ERROR`; `EXECUTOR_FAILED` for what is no `Exception`, such as `SystemExit`).

    Args:
        message: What was wrong, for whoever handed the task over; never a secret.
        error_code: What failed, in the words of the service's answers.
        retryable: The same may succeed later: the task is scheduled for a retry, as long as its
            policy allows. Else the failure is terminal.
        detail: Private context for the log and for the operator's record of the task.
    """

    def __init__(
        self,
        message: str,
        *,
        error_code: TaskErrorCode,
        retryable: bool = False,
        detail: str | None = None,
    ) -> None:
        super().__init__(message, detail=detail)
        self.error_code = error_code
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """The table that a task is about ("TableIdentity").

    Attributes:
        entity_id: The catalog's own id of the table.
        namespace: Levels of the namespace, the outermost first.
    """

    entity_id: str
    catalog: str
    namespace: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """How far a task is; totals are `None` while they are not known.

    Attributes:
        stage: What it is doing.
        files_done: Files that are dealt with, of `files_total`, by all attempts together.
        bytes_done: Their bytes.
    """

    stage: str
    files_done: int = 0
    files_total: int | None = None
    bytes_done: int = 0


@dataclass(frozen=True, slots=True)
class DelegatedTask:
    """A task as its executor sees it, at the beginning of an attempt.

    Attributes:
        operation: One of the operations that the executor's type registered.
        attempt: 1 for the first; what an earlier attempt began is safe to do again, or is among the
            `stages`.
        stages: Names of the stages that earlier attempts have finished, in that order.
        progress: What earlier attempts reported last; `None` at the first. A worker that is killed
            loses what it has reported since its last heartbeat or finished stage.
        properties: Instructions for the operation.
        metadata_location: The table's current metadata file, where the payload said so; else the
            executor loads the table from the catalog.
        metadata: The table's metadata, where the payload had it.
        config: Credentials and settings for the table's files, where the payload had them.
        further: What else the payload held (`storage-credentials`, say). It may hold secrets.
        grant: What the task may touch. The service checks the operation, the catalog and the payload's
            own locations; executors check every location that they learn later (`NOT_GRANTED`).
    """

    id: str
    operation: str
    realm: str
    table: TableIdentity
    attempt: int = 1
    correlation_id: str | None = None
    stages: tuple[str, ...] = ()
    progress: TaskProgress | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    metadata_location: str | None = None
    metadata: Mapping[str, Any] | None = field(default=None, repr=False)
    config: Mapping[str, str] | None = field(default=None, repr=False)
    further: Mapping[str, Any] = field(default_factory=dict, repr=False)
    grant: RealmGrant = field(default_factory=RealmGrant)


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a finished task has really done ("TaskSuccessResponse").

    The service checks it before it is stored. What is not valid fails the attempt for good
    (`INVALID_RESULT`): counts outside of 0 to 2^63 - 1, texts of more than 10,000 characters or with a
    null character or a lone surrogate, more than 1,000 values in `further`, or any that is no JSON.

    Attributes:
        summary: One sentence for people.
        files_deleted: Files, `None` for operations that delete none.
        bytes_deleted: Their bytes.
        further: Other figures, by name.
    """

    summary: str
    files_deleted: int | None = None
    bytes_deleted: int | None = None
    further: Mapping[str, int | str] = field(default_factory=dict)


class TaskRun(Protocol):
    """What an executor tells the service during an attempt.

    The service keeps the lease by itself, also while an executor blocks its event loop, which all
    executors of a worker share and nothing else runs on. Where the lease is lost,
    or the task is cancelled, it cancels the executor's `run`: what runs in threads or on a cluster has
    to be stopped there, in the executor's own `finally`.
    """

    def report(self, progress: TaskProgress) -> None:
        """Show how far the task is, over all attempts; cheap, from any thread.

        It is stored by the next heartbeat, with the next finished stage, or at the attempt's end.

        Raises:
            TaskFailed: It is not valid (`INVALID_RESULT`; the limits are those of `TaskResult`).
        """

    async def finish_stage(self, stage: str) -> None:
        """Make sure that later attempts know that a stage is finished, and what was reported last.

        Both are stored when this returns; a database that does not answer is waited for.

        Raises:
            TaskFailed: The lease was lost meanwhile: another worker has the task. Or the name is not
                valid (`INVALID_RESULT`).
        """

    async def renewed_config(self) -> Mapping[str, str] | None:
        """The newest credentials that the catalog handed over for this task.

        A repeated request may have brought newer ones than `DelegatedTask.config`.
        """


class TaskExecutor(ABC):
    """Runs long tasks for the delegation service."""

    async def acquire(self, task: DelegatedTask) -> Any:
        """What the task needs from elsewhere before it touches any data, above all credentials.

        Meanwhile the task is ACQUIRING_RESOURCES: nothing has been changed if it fails.

        Returns:
            Whatever `run` takes as `resources`.

        Raises:
            TaskFailed: It cannot be had (`CREDENTIAL_VENDING_FAILED`), or the payload is wrong.
        """
        return None

    @abstractmethod
    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Run one leased task to its end.

        It may be run again after any interruption, also after its end was not recorded any more: what
        is done already must be safe to do again.

        Raises:
            TaskFailed: It cannot go on now, or at all.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release what is kept between tasks; called once at the end of a worker."""
