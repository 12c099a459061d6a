"""`sluicegate plugins`: lists plugins and what they provide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import config_path, given_config_path, load_settings
from sluicegate.cli.output import columns, json_option, print_json

if TYPE_CHECKING:
    from sluicegate.plugins.report import PluginReport


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(plugins)


@click.command()
@json_option
@click.pass_context
def plugins(ctx: click.Context, as_json: bool) -> None:
    """List installed and enabled plugins, and what they provide.

    The exit code is 1 if an enabled plugin is missing or broken.

    \b
    Examples:
      sluicegate plugins
      sluicegate plugins --json
    """
    from sluicegate.plugins.report import report_plugins

    reports = report_plugins(_enabled(ctx))
    if as_json:
        print_json([asdict(report) for report in reports])
    else:
        _show(reports)
    if any(report.enabled and report.problem for report in reports):
        ctx.exit(1)


def _enabled(ctx: click.Context) -> tuple[str, ...]:
    """The enabled plugins. Empty if no configuration is named and the default file does not exist."""
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
