"""`sluicegate tasks`: hand tasks over, see how far they are, cancel them, try them once more."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.durations import DURATION
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.delegation.queue import TaskFilter, TaskQueue
    from sluicegate.delegation.records import TaskRecord

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
    """Tasks of the delegation service, in the configured database."""


@tasks.command()
@click.argument("payload", type=click.File("rb"))
@click.pass_context
def submit(ctx: click.Context, payload: IO[bytes]) -> None:
    """Hand over the task of a PAYLOAD file (JSON, as the API takes it; - reads standard input).

    Prints its id. The same payload again gives the same task, as with the API.
    """
    settings, content = load_settings(ctx), payload.read()
    click.echo(run_async(_submit(settings, content)).id)


@tasks.command(name="list")
@click.option("--status", type=click.Choice(_STATUSES), help="In this state.")
@click.option("--operation", metavar="TYPE", help="Of this operation, such as TABLE_PURGE.")
@click.option("--realm", metavar="NAME", help="Of this realm.")
@click.option("--correlation-id", metavar="ID", help="With this correlation id.")
@click.option(
    "--limit", type=click.IntRange(1), default=100, show_default=True, help="The newest so many."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def list_(ctx: click.Context, /, realm: str | None, as_json: bool, **wanted: Any) -> None:
    """List tasks, the newest first."""
    from sluicegate.delegation.queue import TaskFilter

    query = TaskFilter(realms=None if realm is None else (realm,), **wanted)
    found = run_async(_find(load_settings(ctx), query))
    if as_json:
        _print([_record(each) for each in found])
        return
    for line in columns(_HEADER, [_row(each) for each in found]):
        click.echo(line)


@tasks.command()
@click.argument("task_id", metavar="ID")
@click.pass_context
def show(ctx: click.Context, task_id: str) -> None:
    """Print the whole record of a task, with every version, as JSON."""
    _print(run_async(_show(load_settings(ctx), task_id)))


@tasks.command()
@click.argument("task_id", metavar="ID")
@click.pass_context
def cancel(ctx: click.Context, task_id: str) -> None:
    """End a task; a worker that has it stops it at its next heartbeat."""
    task = run_async(_cancel(load_settings(ctx), task_id))
    soon = f"{task.leased_by} stops it at its next heartbeat, unless it ends before"
    click.echo("cancelled" if task.ended else soon)


@tasks.command()
@click.argument("task_id", metavar="ID")
@click.pass_context
def retry(ctx: click.Context, task_id: str) -> None:
    """Try a failed task again; stages that were finished stay finished.

    Credentials that came with the payload are gone: the executor asks the catalog for new ones.
    """
    click.echo(run_async(_retry(load_settings(ctx), task_id)).status)


@tasks.command()
@click.option(
    "--older-than",
    type=DURATION,
    metavar="AGE",
    help="Ended so long ago (90d).  [default: delegation.retention]",
)
@click.pass_context
def prune(ctx: click.Context, older_than: int | None) -> None:
    """Delete tasks that ended long ago, with their histories; the service does so each hour."""
    settings = load_settings(ctx)
    age = settings.delegation.retention if older_than is None else older_than
    click.echo(f"pruned {run_async(_prune(settings, age))} tasks")


@asynccontextmanager
async def _queue(settings: Settings) -> AsyncIterator[TaskQueue]:
    from sluicegate.delegation.queue import TaskQueue
    from sluicegate.delegation.sealing import Seal

    seal = Seal.of(settings)
    async with open_store(settings) as store:
        yield TaskQueue(store, seal)


async def _submit(settings: Settings, content: bytes) -> TaskRecord:
    from sluicegate.delegation.grants import RealmGrants
    from sluicegate.delegation.payload import TaskPayload
    from sluicegate.registry import Registry, configure

    payload = TaskPayload.parse(content)
    configured = configure(settings, Registry.load(settings))
    payload.check_operation(configured.operations)
    RealmGrants.configured(settings.delegation, configured).check_payload(payload)
    async with _queue(settings) as queue:
        return await queue.submit(payload, _OPERATOR)


async def _find(settings: Settings, query: TaskFilter) -> list[TaskRecord]:
    async with _queue(settings) as queue:
        return await queue.find(query)


async def _show(settings: Settings, task_id: str) -> dict[str, Any]:
    from sluicegate.delegation.answers import history

    async with _queue(settings) as queue:
        task = await queue.get(task_id)
        versions = history(await queue.history(task.id))
    return {**_record(task), "result_extended": task.result_extended, "versions": versions}


async def _cancel(settings: Settings, task_id: str) -> TaskRecord:
    async with _queue(settings) as queue:
        return await queue.cancel(task_id)


async def _prune(settings: Settings, seconds: int) -> int:
    from sluicegate.delegation.retention import Retention

    async with open_store(settings) as store:
        return await Retention(store, seconds).prune()


async def _retry(settings: Settings, task_id: str) -> TaskRecord:
    async with _queue(settings) as queue:
        return await queue.retry(task_id)


def _record(task: TaskRecord) -> dict[str, Any]:
    from sluicegate.delegation.answers import record

    return record(task)


def _print(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


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
    """The stage, and how many files of how many; nothing once the summary says what was done."""
    if task.progress is None or task.status == "SUCCESS":
        return "-"
    stage, done, total = (task.progress[name] for name in ("stage", "files_done", "files_total"))
    if total is None:
        return f"{stage} {done}" if done else str(stage)
    return f"{stage} {done}/{total}"
