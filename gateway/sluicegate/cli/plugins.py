"""`sluicegate plugins`: what is installed, enabled and provided."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import config_path, given_config_path, load_settings
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.registry.report import PluginReport


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(plugins)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def plugins(ctx: click.Context, as_json: bool) -> None:
    """List the plugins: installed or not, enabled or not, and what they provide.

    Exits with 1 when an enabled plugin is missing or broken.
    """
    from sluicegate.registry.report import report_plugins

    reports = report_plugins(_enabled(ctx))
    if as_json:
        click.echo(json.dumps([asdict(report) for report in reports], indent=2))
    else:
        _show(reports)
    if any(report.enabled and report.problem for report in reports):
        ctx.exit(1)


def _enabled(ctx: click.Context) -> tuple[str, ...]:
    """Nothing is enabled where no configuration is named and none stands at the default place."""
    if given_config_path(ctx) is None and not config_path(ctx).exists():
        return ()
    return load_settings(ctx).enabled_plugins


def _show(reports: Iterable[PluginReport]) -> None:
    rows = [
        (
            report.name,
            "enabled" if report.enabled else "-",
            f"{report.distribution} {report.version}" if report.distribution else "not installed",
            report.problem or ", ".join(report.provides),
        )
        for report in reports
    ]
    for line in columns(("PLUGIN", "STATE", "DISTRIBUTION", "PROVIDES"), rows):
        click.echo(line)
