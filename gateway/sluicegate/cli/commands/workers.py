"""`sluicegate workers`: shows what the workers of the delegation service do now."""

from __future__ import annotations

import click

from sluicegate.cli.commands.tasks.selected import progress_of
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, items
from sluicegate.cli.output import columns, json_option, print_json

_HEADER = ("WORKER", "TASK", "OPERATION", "TABLE", "STATUS", "PROGRESS", "SINCE", "LEASE UNTIL")


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(workers)


@click.group()
def workers() -> None:
    """Show what the workers of the delegation service do now.

    \b
    Example:
      sluicegate workers list
    """


@workers.command(name="list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List workers that have tasks, one line per task. Idle workers are not known to the database.

    If a lease has expired, its worker is lost, or cannot reach the database.

    \b
    Example:
      sluicegate workers list
    """
    found = manage(ctx, lambda target: items(target, "/workers"))
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("no worker has a task", err=True)
        return
    rows = [_row(worker["worker"], task) for worker in found for task in worker["tasks"]]
    for line in columns(_HEADER, rows):
        click.echo(line)


def _row(worker: str, task: Content) -> tuple[str, ...]:
    until = task["lease_expires_ts"]
    return (
        worker,
        task["task_id"],
        task["task_type"],
        task["table"],
        f"{task['status']} (to be cancelled)" if task["cancel_requested"] else task["status"],
        progress_of(task["progress"]),
        task["lease_acquired_ts"],
        f"{until} (expired)" if task["lease_expired"] else until,
    )
