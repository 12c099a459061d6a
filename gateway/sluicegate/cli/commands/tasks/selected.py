"""Cancels or retries all tasks that some filters select."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import click

from sluicegate.api.errors import (
    ConfigurationError,
    InvalidRequest,
    PermissionDenied,
    SluicegateError,
    Unavailable,
)
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, Target, given, items, path_of
from sluicegate.cli.output import print_json
from sluicegate.cli.terminal import confirm, report, yes_option


def progress_of(progress: Content | None) -> str:
    """The stage with the numbers of files."""
    if progress is None:
        return "-"
    stage, done, total = (progress[name] for name in ("stage", "files_done", "files_total"))
    if total is None:
        return f"{stage} {done}" if done else str(stage)
    return f"{stage} {done}/{total}"


_SHOWN = 10

Query = list[tuple[str, str]]


def selecting_options(statuses: Collection[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The filters of a command that changes tasks, and `--dry-run` and `--yes`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command = yes_option(command)
        for option in (
            click.option("--dry-run", is_flag=True, help="Only show the selected tasks."),
            click.option("--realm", metavar="NAME", help="All tasks of this realm."),
            click.option("--operation", metavar="TYPE", help="All tasks of this operation."),
            click.option("--schedule", metavar="NAME", help="All tasks of this schedule."),
        ):
            command = option(command)
        if len(statuses) > 1:
            choices = click.Choice(sorted(statuses))
            command = click.option("--status", type=choices, help="All tasks in this state.")(command)
        return command

    return add


def change_selected(
    ctx: click.Context,
    action: str,
    statuses: Collection[str],
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
    **filters: str | None,
) -> None:
    """Show the tasks that filters select, prompt, and change each of them."""
    query = given(**filters)
    if not query:
        raise InvalidRequest(f"name a task, or select tasks by {_or(sorted(filters))}")
    found = manage(ctx, lambda target: _selected(target, query, statuses))
    if dry_run or not found:
        _show(found, action, as_json=as_json)
        return
    if not yes:
        _preview(found)
        confirm(ctx, f"{action.capitalize()} {_counted(found)}?", yes=yes)
    changed = manage(ctx, lambda target: _change(target, action, found))
    if as_json:
        print_json(changed)
        return
    left = len(found) - len(changed)
    click.echo(f"{_counted(changed)}: {_DONE[action]}" + (f"; {left} left unchanged" if left else ""))


_DONE = {"cancel": "cancelled, or to be cancelled", "retry": "to be retried"}


async def _selected(target: Target, query: Query, statuses: Collection[str]) -> list[Content]:
    if any(name == "status" for name, _ in query):
        return await items(target, "/tasks", query)
    return [
        each
        for status in sorted(statuses)
        for each in await items(target, "/tasks", [*query, ("status", status)])
    ]


async def _change(target: Target, action: str, tasks: Sequence[Content]) -> list[Content]:
    changed: list[Content] = []
    for task in tasks:
        path = path_of(f"/tasks/{{}}/{action}", task["task_id"])
        try:
            changed.append(dict((await target.send("POST", path)).content))
        except (ConfigurationError, PermissionDenied, Unavailable):
            raise  # of no task in particular
        except SluicegateError as error:
            report("note", f"{task['task_id']}: {error.message}")
    return changed


def _show(found: Sequence[Content], action: str, *, as_json: bool) -> None:
    if as_json:
        print_json(list(found))
    elif found:
        _preview(found)
        click.echo(f"{action} would change {_counted(found)}", err=True)
    else:
        click.echo(f"no tasks to {action}", err=True)


def _preview(found: Sequence[Content]) -> None:
    counts = Counter((each["task_type"], each["status"]) for each in found)
    for (operation, status), count in sorted(counts.items()):
        click.echo(f"  {operation} {status}: {count}", err=True)
    for each in found[:_SHOWN]:
        click.echo(f"    {each['task_id']}  {table_of(each)}", err=True)
    if len(found) > _SHOWN:
        click.echo(f"    and {len(found) - _SHOWN} more", err=True)


def table_of(task: Content) -> str:
    """The name of a task's table."""
    named = task["task_payload"]["operation_parameters"]["table_identity"]
    return ".".join((named["catalog_name"], *named["namespace_levels"], named["table_name"]))


def _counted(tasks: Sequence[Content]) -> str:
    return f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}"


def _or(names: Sequence[str]) -> str:
    *first, last = (f"--{name}" for name in names)
    return f"{', '.join(first)} or {last}"
