"""`sluicegate tasks`: submits, lists, cancels, retries and prunes delegated tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

import click

from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.commands.tasks.selected import (
    change_selected,
    progress_of,
    selecting_options,
    table_of,
)
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, get, given, items, path_of
from sluicegate.cli.options import DURATION
from sluicegate.cli.output import columns, json_option, print_json

_HEADER = ("ID", "OPERATION", "REALM", "STATUS", "ATTEMPTS", "PROGRESS", "TABLE", "RECEIVED", "SUMMARY")
_LEASED = ("ACQUIRING_RESOURCES", "RUNNING")
_ENDED = ("SUCCESS", "FAILURE")
_STATUSES = (
    "SUBMITTED",
    "ACQUIRING_RESOURCES",
    "RUNNING",
    "RETRY_SCHEDULED",
    "SUCCESS",
    "FAILURE",
)
_UNFINISHED = _STATUSES[:4]
_FAILED = ("FAILURE",)


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
    body = _parsed(payload.read())
    task = manage(ctx, lambda target: target.send("POST", "/tasks", body=body)).content
    _print_task(task, task["task_id"], as_json=as_json)


@tasks.command(name="list")
@click.option("--status", type=click.Choice(_STATUSES), help="Only tasks in this state.")
@click.option("--operation", metavar="TYPE", help="Only this operation, such as TABLE_PURGE.")
@click.option("--realm", metavar="NAME", help="Only tasks of this realm.")
@click.option("--correlation-id", metavar="ID", help="Only tasks with this correlation id.")
@click.option("--schedule", metavar="NAME", help="Only tasks of this schedule.")
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
    limit = wanted.pop("limit")
    query = given(realm=realm, **wanted)
    found = manage(ctx, lambda target: items(target, "/tasks", query, limit=limit))
    if as_json:
        print_json(found)
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
    path = path_of("/tasks/{}", task_id)
    print_json(manage(ctx, lambda target: get(target, path)))


@tasks.command()
@click.argument("task_id", metavar="[ID]", required=False)
@selecting_options(_UNFINISHED)
@json_option
@click.pass_context
def cancel(ctx: click.Context, /, task_id: str | None, as_json: bool, **selected: Any) -> None:
    """Cancel a task, or all unfinished tasks that options select.

    If a worker runs a task, the worker stops it at its next heartbeat. If options select tasks, the
    command shows them and prompts for confirmation if standard input is a terminal, unless --yes is
    given.

    \b
    Examples:
      sluicegate tasks cancel 2f6c1d0e-8a41-4f5b-9c3d-7e1b0a9d4c62
      sluicegate tasks cancel --schedule nightly-compaction --dry-run
      sluicegate tasks cancel --operation TABLE_VACUUM --status SUBMITTED --yes
    """
    if task_id is None:
        change_selected(ctx, "cancel", _UNFINISHED, as_json=as_json, **selected)
        return
    _refuse_options(selected)
    path = path_of("/tasks/{}/cancel", task_id)
    task = manage(ctx, lambda target: target.send("POST", path)).content
    soon = f"{task['leased_by']} stops it at its next heartbeat, unless it completes before"
    _print_task(task, "cancelled" if task["status"] in _ENDED else soon, as_json=as_json)


@tasks.command()
@click.argument("task_id", metavar="[ID]", required=False)
@selecting_options(_FAILED)
@json_option
@click.pass_context
def retry(ctx: click.Context, /, task_id: str | None, as_json: bool, **selected: Any) -> None:
    """Retry a failed task, or all failed tasks that options select. Completed stages are not repeated.

    The credentials in the payload were deleted; the executor requests new ones from the catalog. If
    options select tasks, the command shows them and prompts for confirmation if standard input is a
    terminal, unless --yes is given.

    \b
    Examples:
      sluicegate tasks retry 2f6c1d0e-8a41-4f5b-9c3d-7e1b0a9d4c62
      sluicegate tasks retry --schedule nightly-compaction
    """
    if task_id is None:
        change_selected(ctx, "retry", _FAILED, as_json=as_json, **selected)
        return
    _refuse_options(selected)
    path = path_of("/tasks/{}/retry", task_id)
    task = manage(ctx, lambda target: target.send("POST", path)).content
    _print_task(task, task["status"], as_json=as_json)


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
    body = {"older_than": older_than}
    answer = manage(ctx, lambda target: target.send("POST", "/tasks/prune", body=body)).content
    if as_json:
        print_json(answer)
    else:
        click.echo(f"pruned {answer['pruned']} tasks")


def _refuse_options(selected: Mapping[str, Any]) -> None:
    """Refuse options that select tasks next to the id of one."""
    if any(selected[name] for name in selected if name != "yes"):
        raise click.UsageError("name a task, or select tasks with options, but not both")


def _parsed(content: bytes) -> Any:
    import orjson

    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(
            f"the payload is not JSON, from line {error.lineno}, column {error.colno} on"
        ) from None


def _print_task(task: Content, text: str, *, as_json: bool) -> None:
    """Print a text about a task, or its record."""
    if as_json:
        print_json(task)
    else:
        click.echo(text)


def _row(task: Content) -> tuple[str, ...]:
    return (
        task["task_id"],
        task["task_type"],
        task["realm_id"],
        _status(task),
        str(task["attempt_count"]),
        _progress(task),
        table_of(task),
        task["received_timestamp"],
        task["result_summary"] or "-",
    )


def _status(task: Content) -> str:
    status = str(task["status"])
    to_be_cancelled = status in _LEASED and task["cancel_requested_ts"] is not None
    return f"{status} (to be cancelled)" if to_be_cancelled else status


def _progress(task: Content) -> str:
    """The progress; `-` after success, which the summary describes."""
    return "-" if task["status"] == "SUCCESS" else progress_of(task["progress"])
