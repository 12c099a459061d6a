"""`sluicegate schedules`: shows, runs, pauses and resumes the schedules of the delegation service."""

from __future__ import annotations

import click

from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, get, items, path_of
from sluicegate.cli.output import columns, json_option, print_json

_HEADER = ("NAME", "OPERATION", "CRON", "TIME ZONE", "STATE", "NEXT", "LAST", "RESULT")
_ENDED = ("SUCCESS", "FAILURE")


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(schedules)


@click.group()
def schedules() -> None:
    """Manage the schedules of the delegation service, which are in the configuration.

    \b
    Examples:
      sluicegate schedules list
      sluicegate schedules pause nightly-compaction
    """


@schedules.command(name="list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List schedules, with their next and last firings.

    \b
    Example:
      sluicegate schedules list
    """
    found = manage(ctx, lambda target: items(target, "/schedules"))
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("no schedules found", err=True)
        return
    for line in columns(_HEADER, [_row(each) for each in found]):
        click.echo(line)


@schedules.command()
@click.argument("name", metavar="NAME")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool) -> None:
    """Print a schedule with its last firings, as JSON, also without --json.

    \b
    Example:
      sluicegate schedules show nightly-compaction
    """
    path = path_of("/schedules/{}", name)
    print_json(manage(ctx, lambda target: get(target, path)))


@schedules.command()
@click.argument("name", metavar="NAME")
@json_option
@click.pass_context
def run(ctx: click.Context, name: str, as_json: bool) -> None:
    """Let a schedule fire now, and print the id of the firing.

    A running delegation service submits the tasks within seconds. They can start at once, also outside
    of the schedule's window. A schedule that is paused or not enabled can be run, too.

    \b
    Example:
      sluicegate schedules run nightly-compaction
    """
    firing = _changed(ctx, "run", name)
    if as_json:
        print_json(firing)
    else:
        click.echo(firing["firing_id"])


@schedules.command()
@click.argument("name", metavar="NAME")
@json_option
@click.pass_context
def pause(ctx: click.Context, name: str, as_json: bool) -> None:
    """Let a schedule fire no longer, until it is resumed. Its submitted tasks continue.

    To cancel these, too: sluicegate tasks cancel --schedule NAME

    \b
    Example:
      sluicegate schedules pause nightly-compaction
    """
    schedule = _changed(ctx, "pause", name)
    if as_json:
        print_json(schedule)
    else:
        click.echo(f"paused since {schedule['paused_at']} by {schedule['paused_by']}")


@schedules.command()
@click.argument("name", metavar="NAME")
@json_option
@click.pass_context
def resume(ctx: click.Context, name: str, as_json: bool) -> None:
    """Let a paused schedule fire again. Times that have passed meanwhile are not caught up.

    \b
    Example:
      sluicegate schedules resume nightly-compaction
    """
    schedule = _changed(ctx, "resume", name)
    if as_json:
        print_json(schedule)
    elif not schedule["enabled"]:
        click.echo("not paused, but it is not enabled in the configuration")
    elif schedule["after"] is not None:
        click.echo(f"fires after {schedule['after']}")
    else:
        click.echo(f"fires next at {schedule['next_firing_at']}")


def _changed(ctx: click.Context, action: str, name: str) -> Content:
    path = path_of(f"/schedules/{{}}/{action}", name)
    return dict(manage(ctx, lambda target: target.send("POST", path)).content)


def _row(schedule: Content) -> tuple[str, ...]:
    last = schedule["last_firing"]
    return (
        schedule["name"],
        schedule["operation"],
        schedule["cron"] or f"after {schedule['after']}",
        schedule["time_zone"],
        _state(schedule),
        schedule["next_firing_at"] or "-",
        "-" if last is None else last["fires_at"],
        "-" if last is None else _result(last),
    )


def _state(schedule: Content) -> str:
    if not schedule["enabled"]:
        return "disabled"
    return "active" if schedule["paused_at"] is None else "paused"


def _result(firing: Content) -> str:
    """The numbers of tasks, or why there are none."""
    if firing["status"] in ("SKIPPED", "FAILED") or not firing["submitted"]:
        return f"{firing['status']}: {firing['message'] or 'no tasks yet'}"
    counts = firing["tasks"]
    unfinished = sum(count for status, count in counts.items() if status not in _ENDED)
    shown = [f"{counts[each]} {each}" for each in _ENDED if each in counts]
    return ", ".join([*shown, *([f"{unfinished} unfinished"] if unfinished else [])]) or "-"
