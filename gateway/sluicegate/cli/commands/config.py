"""`sluicegate config`: checks a configuration file, or prints its schema."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.context import config_path


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(config)


@click.group()
def config() -> None:
    """Check a configuration file, or print its schema.

    \b
    Example:
      sluicegate config check gateway.yaml
    """


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
@click.pass_context
def check(ctx: click.Context, file: Path | None, as_json: bool) -> None:
    """Check a configuration file without opening the database, keys or catalogs.

    Without FILE, the command checks the file that `--config`, the environment or the default names. It
    reports all problems in one run, each with its line and column.

    \b
    Examples:
      sluicegate config check
      sluicegate config check gateway.yaml --json
    """
    from sluicegate.cli.config_check.problems import find_problems

    path = file or config_path(ctx)
    problems, warnings = find_problems(path)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        shown = [{"line": p.line, "column": p.column, "message": p.message} for p in problems]
        click.echo(json.dumps({"file": str(path), "problems": shown}, indent=2))
    elif problems:
        raise ConfigurationError("\n".join(problem.text for problem in problems))
    else:
        click.echo(f"{path}: ok")
    if problems:
        ctx.exit(1)


@config.command()
def schema() -> None:
    """Print the JSON Schema of configuration files, with the sections of all installed plugins.

    \b
    Example:
      sluicegate config schema > gateway.schema.json
    """
    from sluicegate.plugins.report import load_installed
    from sluicegate.plugins.schema import configuration_schema

    click.echo(json.dumps(configuration_schema(load_installed()), indent=2))
