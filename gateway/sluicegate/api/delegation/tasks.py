"""The base class of task executors, and the models of the delegation service for them.

Plugins import all of it from `api`. Source: Polaris delegation proposal, "Persistence" and "Task
Retry".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sluicegate.api.delegation.issued import IssuedAccess
from sluicegate.api.delegation.realm_grants import RealmGrant
from sluicegate.api.errors import SluicegateError

TaskErrorCode = Literal[
    "INVALID_PAYLOAD",
    "NOT_GRANTED",
    "CREDENTIAL_VENDING_FAILED",
    "STORAGE_FAILED",
    "COMMIT_STATE_UNKNOWN",
    "ENGINE_FAILED",
    "INVALID_RESULT",
    "INTERNAL_ERROR",
]
"""The reasons for failure that the catalog that submitted a task can distinguish."""


class TaskFailed(SluicegateError):
    """A task cannot continue.

    The type of any other exception of an executor determines the failure: `Unavailable` (including
    `StorageError`) is a transient failure of a store, any other `SluicegateError` is terminal, and
    unexpected errors are retried (`INTERNAL_ERROR`; `EXECUTOR_FAILED` for subclasses of `BaseException`
    such as `SystemExit`).

    Args:
        message: The reason, for the client that submitted the task; never a secret.
        error_code: The error code for the service's responses.
        retryable: Whether the task can succeed later. It is then retried, if its policy allows.
            Otherwise the failure is terminal.
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
    """The table that a task operates on ("TableIdentity").

    Attributes:
        entity_id: The table's id in the catalog.
        namespace: Levels of the namespace, the outermost first.
    """

    entity_id: str
    catalog: str
    namespace: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The progress of a task. Totals are `None` while they are unknown.

    Attributes:
        stage: The current stage.
        files_done: Number of processed files, of `files_total`, in all attempts together.
        bytes_done: Bytes of these files.
    """

    stage: str
    files_done: int = 0
    files_total: int | None = None
    bytes_done: int = 0


@dataclass(frozen=True, slots=True)
class DelegatedTask:
    """A task at the beginning of an attempt.

    Attributes:
        operation: One of the operations that the executor's type registered.
        attempt: Number of the attempt, from 1. Work of earlier attempts is safe to repeat, or is listed
            in `stages`.
        stages: Names of the stages that earlier attempts have finished, in that order.
        progress: The last progress that earlier attempts reported; `None` in the first attempt. If a
            worker is killed, progress since its last heartbeat or finished stage is lost.
        properties: Instructions for the operation.
        metadata_location: The table's current metadata file, if the payload contains it. Otherwise, the
            executor loads the table from the catalog.
        metadata: The table's metadata, if the payload contains it.
        config: Credentials and settings for the table's files, if the payload contains them.
        further: Other members of the payload (for example `storage-credentials`). They may contain
            secrets.
        grant: The grant of the task's realm. The service checks the operation, the catalog, and the
            locations in the payload. Executors must check all other locations (`NOT_GRANTED`).
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
    """The result of a successful task ("TaskSuccessResponse").

    The service validates it before it is stored. An invalid result fails the task without retry
    (`INVALID_RESULT`): counts outside the range 0 to 2^63 - 1, texts with more than 10,000 characters,
    a null character or a lone surrogate, more than 1,000 values in `further`, or values that are not
    valid JSON.

    Attributes:
        summary: One sentence for people.
        files_deleted: Number of deleted files; `None` for operations that delete none.
        bytes_deleted: Bytes of these files.
        further: Other figures, by name.
    """

    summary: str
    files_deleted: int | None = None
    bytes_deleted: int | None = None
    further: Mapping[str, int | str] = field(default_factory=dict)


class TaskRun(Protocol):
    """The interface through which an executor reports to the service during an attempt.

    The service renews the lease, even while an executor blocks its event loop, which only the executors
    of a worker use. If the lease is lost or the task is cancelled, the service cancels the executor's
    `run`. The executor must then stop its work in threads or on a cluster, in a `finally` block.
    """

    def report(self, progress: TaskProgress) -> None:
        """Report the progress of all attempts. Fast, and callable from any thread.

        It is stored by the next heartbeat, with the next finished stage, or at the attempt's end.

        Raises:
            TaskFailed: The progress is not valid (`INVALID_RESULT`; the limits are those of
                `TaskResult`).
        """

    async def finish_stage(self, stage: str) -> None:
        """Store that a stage is finished, together with the last reported progress, for later attempts.

        When this method returns, both are stored. If the database does not respond, the method waits.

        Raises:
            TaskFailed: The lease was lost, so another worker has the task, or the name is not valid
                (`INVALID_RESULT`).
        """

    async def check_lease(self) -> None:
        """Ensure that the database still assigns the task to this attempt, and prolong its lease.

        Call it immediately before each change that cannot be undone, such as a group of deletions or a
        commit. The worker might have been suspended for longer than its lease, together with its clock.
        If the database does not respond, the method waits. If the task was cancelled, it does not
        return.

        Raises:
            TaskFailed: The lease was lost, so another worker has the task.
        """

    async def renewed_config(self) -> Mapping[str, str] | None:
        """Return the newest credentials that the catalog submitted for this task.

        They are newer than `DelegatedTask.config` if the catalog has repeated its request.
        """

    async def issued_access(
        self, since: int, after: tuple[int, str] | None, limit: int
    ) -> Sequence[IssuedAccess]:
        """Return entries of the ledger, oldest first.

        An entry of a response that is still being sent grows: `files` and `expires_at` can change.

        Args:
            since: Entries from this time on, epoch milliseconds.
            after: `given_at` and `id` of the last entry of the previous page.
            limit: Maximum number of entries.

        Raises:
            Unavailable: The database does not respond.
        """


class TaskExecutor(ABC):
    """Runs long tasks for the delegation service."""

    async def acquire(self, task: DelegatedTask) -> Any:
        """Acquire the resources that the task needs before it accesses data, such as credentials.

        The task is in the state ACQUIRING_RESOURCES. It must not change any data yet.

        Returns:
            The value of the argument `resources` of `run`.

        Raises:
            TaskFailed: A resource is not available (`CREDENTIAL_VENDING_FAILED`), or the payload is not
                valid.
        """
        return None

    @abstractmethod
    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Run a leased task to completion.

        A task can run again after any interruption, even if it completed but this was not recorded. All
        of its work must be safe to repeat.

        Raises:
            TaskFailed: The task cannot continue, temporarily or permanently.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release resources that are kept between tasks. Called once, when the worker stops."""
