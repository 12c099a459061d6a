"""`sluicegate doctor`: checks a deployment from the place where it runs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.context import config_path, load_settings, run_async
from sluicegate.cli.options import DURATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sluicegate.cli.doctor.results import CheckResult


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(doctor)


def _groups(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    from sluicegate.cli.doctor.plan import GROUPS
    from sluicegate.config.yaml import nearest

    if value is None:
        return GROUPS
    names = tuple(name.strip() for name in value.split(","))
    for name in names:
        if name not in GROUPS:
            raise click.BadParameter(f"unknown group '{name}'{nearest(name, GROUPS)}", ctx, param)
    return names


@click.command()
@click.option(
    "--only", metavar="GROUPS", callback=_groups, help="Groups of checks, separated by commas."
)
@click.option(
    "--timeout",
    type=DURATION,
    default=10,
    metavar="DURATION",
    help="Time for each check.  [default: 10s]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.pass_context
def doctor(ctx: click.Context, only: tuple[str, ...], timeout: int, as_json: bool) -> None:
    """Check a deployment: what works, what doesn't, and what to do about it.

    Run it on the machine and as the user of the gateway. It reads objects and requests temporary
    credentials, but changes nothing. The groups of checks are configuration, database, catalogs,
    storage, vending, address, tls and issuers. The exit code is 1 if a check fails.

    \b
    Examples:
      sluicegate doctor
      sluicegate doctor --only catalogs,storage --json
    """
    from sluicegate.cli.config_check.problems import find_problems
    from sluicegate.cli.doctor.plan import diagnose, report_invalid

    try:
        settings = load_settings(ctx)
    except ConfigurationError:
        problems, _ = find_problems(config_path(ctx))
        outcomes = run_async(report_invalid([problem.text for problem in problems]))
    else:
        outcomes = run_async(diagnose(settings, only, max(timeout, 1)))
    if as_json:
        click.echo(json.dumps([asdict(each) for each in outcomes], indent=2))
    else:
        _print(outcomes)
    if any(each.status == "failed" for each in outcomes):
        ctx.exit(1)


def _print(outcomes: Sequence[CheckResult]) -> None:
    for each in outcomes:
        remedy = f"\n{'':<8} to do: {each.remedy}" if each.remedy else ""
        click.echo(f"{each.status:<8} {each.name}: {each.message}{remedy}")
    counts = Counter(each.status for each in outcomes)
    click.echo(", ".join(f"{counts[each]} {each}" for each in ("ok", "warning", "failed", "skipped")))
