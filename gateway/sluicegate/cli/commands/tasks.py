"""`sluicegate tasks`: submits, lists, cancels, retries and prunes delegated tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.durations import DURATION
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.recorded import CommandChange
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.delegation.queue.records import TaskRecord
    from sluicegate.delegation.queue.tasks import TaskFilter, TaskQueue

_HEADER = ("ID", "OPERATION", "REALM", "STATUS", "ATTEMPTS", "PROGRESS", "TABLE", "RECEIVED", "SUMMARY")
_OPERATOR = "operator"
_STATUSES = (
    "SUBMITTED",
    "ACQUIRING_RESOURCES",
    "RUNNING",
    "RETRY_SCHEDULED",
    "SUCCESS",
    "FAILURE",
)


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(tasks)


@click.group()
def tasks() -> None:
    """Manage the tasks of the delegation service in the configured database.

    \b
    Examples:
      sluicegate tasks submit task.json
      sluicegate tasks list --status RUNNING
    """


@tasks.command()
@click.argument("payload", type=click.File("rb"))
@json_option
@click.pass_context
def submit(ctx: click.Context, payload: IO[bytes], as_json: bool) -> None:
    """Submit a task and print its id.

    PAYLOAD is a JSON file with the request body of the API; - reads standard input. Submitting the same
    payload again returns the same task, as in the API.

    \b
    Example:
      sluicegate tasks submit task.json
    """
    settings, content = load_settings(ctx), payload.read()
    task = run_async(_submit(settings, content))
    _print_task(task, task.id, as_json=as_json)


@tasks.command(name="list")
@click.option("--status", type=click.Choice(_STATUSES), help="Only tasks in this state.")
@click.option("--operation", metavar="TYPE", help="Only this operation, such as TABLE_PURGE.")
@click.option("--realm", metavar="NAME", help="Only tasks of this realm.")
@click.option("--correlation-id", metavar="ID", help="Only tasks with this correlation id.")
@click.option(
    "--limit", type=click.IntRange(1), default=100, show_default=True, help="Maximum number of tasks."
)
@json_option
@click.pass_context
def list_(ctx: click.Context, /, realm: str | None, as_json: bool, **wanted: Any) -> None:
    """List tasks, newest first.

    \b
    Examples:
      sluicegate tasks list --status FAILURE --limit 20
      sluicegate tasks list --realm production --operation TABLE_PURGE --json
    """
    from sluicegate.delegation.queue.tasks import TaskFilter

    query = TaskFilter(realms=None if realm is None else (realm,), **wanted)
    found = run_async(_find(load_settings(ctx), query))
    if as_json:
        print_json([_record(each) for each in found])
        return
    for line in columns(_HEADER, [_row(each) for each in found]):
        click.echo(line)


@tasks.command()
@click.argument("task_id", metavar="ID")
@json_option
@click.pass_context
def show(ctx: click.Context, task_id: str, as_json: bool) -> None:
    """Print the complete record of a task, with its history, as JSON, also without --json.

    \b
    Example:
      sluicegate tasks show 2f6c1d0e-8a41-4f5b-9c3d-7e1b0a9d4c62
    """
    print_json(run_async(_show(load_settings(ctx), task_id)))


@tasks.command()
@click.argument("task_id", metavar="ID")
@json_option
@click.pass_context
def cancel(ctx: click.Context, task_id: str, as_json: bool) -> None:
    """Cancel a task. If a worker runs it, the worker stops it at its next heartbeat.

    \b
    Example:
      sluicegate tasks cancel 2f6c1d0e-8a41-4f5b-9c3d-7e1b0a9d4c62
    """
    task = run_async(_cancel(load_settings(ctx), task_id))
    soon = f"{task.leased_by} stops it at its next heartbeat, unless it completes before"
    _print_task(task, "cancelled" if task.ended else soon, as_json=as_json)


@tasks.command()
@click.argument("task_id", metavar="ID")
@json_option
@click.pass_context
def retry(ctx: click.Context, task_id: str, as_json: bool) -> None:
    """Retry a failed task. Completed stages are not repeated.

    The credentials in the payload were deleted; the executor requests new ones from the catalog.

    \b
    Example:
      sluicegate tasks retry 2f6c1d0e-8a41-4f5b-9c3d-7e1b0a9d4c62
    """
    task = run_async(_retry(load_settings(ctx), task_id))
    _print_task(task, task.status, as_json=as_json)


@tasks.command()
@click.option(
    "--older-than",
    type=DURATION,
    metavar="AGE",
    help="Minimum age of deleted tasks, such as 90d.  [default: delegation.retention]",
)
@json_option
@click.pass_context
def prune(ctx: click.Context, older_than: int | None, as_json: bool) -> None:
    """Delete tasks that completed long ago, with their histories. The service also does so every hour.

    \b
    Examples:
      sluicegate tasks prune
      sluicegate tasks prune --older-than 90d
    """
    settings = load_settings(ctx)
    age = settings.delegation.retention if older_than is None else older_than
    pruned = run_async(_prune(settings, age))
    if as_json:
        print_json({"pruned": pruned})
    else:
        click.echo(f"pruned {pruned} tasks")


@asynccontextmanager
async def _queue(settings: Settings, change: CommandChange | None = None) -> AsyncIterator[TaskQueue]:
    from sluicegate.delegation.queue.encryption import PayloadCipher
    from sluicegate.delegation.queue.tasks import TaskQueue

    cipher = PayloadCipher.of(settings)
    async with open_store(settings, change) as store:
        yield TaskQueue(store, cipher)


async def _submit(settings: Settings, content: bytes) -> TaskRecord:
    from sluicegate.delegation.grants import RealmGrants
    from sluicegate.delegation.payloads.task_payload import TaskPayload
    from sluicegate.plugins import Registry, configure

    payload = TaskPayload.parse(content)
    configured = configure(settings, Registry.load(settings))
    payload.check_operation(configured.operations)
    RealmGrants.configured(settings.delegation, configured).check_payload(payload)
    change = CommandChange("submitTask", None, (f"+ task {payload.common_payload.operation_type}",))
    async with _queue(settings, change) as queue:
        return await queue.submit(payload, _OPERATOR)


async def _find(settings: Settings, query: TaskFilter) -> list[TaskRecord]:
    async with _queue(settings) as queue:
        return await queue.find(query)


async def _show(settings: Settings, task_id: str) -> dict[str, Any]:
    from sluicegate.delegation.rest.responses import history

    async with _queue(settings) as queue:
        task = await queue.get(task_id)
        versions = history(await queue.history(task.id))
    return {**_record(task), "result_extended": task.result_extended, "versions": versions}


async def _cancel(settings: Settings, task_id: str) -> TaskRecord:
    change = CommandChange("cancelTask", task_id, (f"~ task {task_id}: cancelled",))
    async with _queue(settings, change) as queue:
        return await queue.cancel(task_id)


async def _prune(settings: Settings, seconds: int) -> int:
    from sluicegate.delegation.queue.retention import Retention

    age = f"{seconds} s"
    change = CommandChange("pruneTasks", None, (f"- tasks that completed {age} ago or earlier",))
    async with open_store(settings, change) as store:
        return await Retention(store, seconds).prune()


async def _retry(settings: Settings, task_id: str) -> TaskRecord:
    change = CommandChange("retryTask", task_id, (f"~ task {task_id}: to be retried",))
    async with _queue(settings, change) as queue:
        return await queue.retry(task_id)


def _record(task: TaskRecord) -> dict[str, Any]:
    from sluicegate.delegation.rest.responses import record

    return record(task)


def _print_task(task: TaskRecord, text: str, *, as_json: bool) -> None:
    """Print a text about a task, or its record."""
    if as_json:
        print_json(_record(task))
    else:
        click.echo(text)


def _row(task: TaskRecord) -> tuple[str, ...]:
    shown = _record(task)
    return (
        task.id,
        task.operation,
        task.realm,
        _status(task),
        str(task.attempt_count),
        _progress(task),
        task.table,
        shown["received_timestamp"],
        task.result_summary or "-",
    )


def _status(task: TaskRecord) -> str:
    to_be_cancelled = task.leased and task.cancel_requested_at is not None
    return f"{task.status} (to be cancelled)" if to_be_cancelled else task.status


def _progress(task: TaskRecord) -> str:
    """The stage with the numbers of files; `-` after success, which the summary describes."""
    if task.progress is None or task.status == "SUCCESS":
        return "-"
    stage, done, total = (task.progress[name] for name in ("stage", "files_done", "files_total"))
    if total is None:
        return f"{stage} {done}" if done else str(stage)
    return f"{stage} {done}/{total}"
