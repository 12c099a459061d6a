"""`sluicegate config`: checks a configuration file, or prints its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.context import config_path, load_settings_from

if TYPE_CHECKING:
    from sluicegate.config import Settings


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
@click.pass_context
def check(ctx: click.Context, file: Path | None) -> None:
    """Check a configuration file without opening the database, keys or catalogs.

    Without FILE, the command checks the file that `--config`, the environment or the default names. It
    reports every problem with its line and column.

    \b
    Examples:
      sluicegate config check
      sluicegate config check gateway.yaml
    """
    path = file or config_path(ctx)
    problems = _problems(load_settings_from(ctx, path))
    if problems:
        raise ConfigurationError("\n".join(problems))
    click.echo(f"{path}: ok")


def _problems(settings: Settings) -> list[str]:
    from sluicegate.database.urls import DatabaseUrl
    from sluicegate.plugins import Registry, configure
    from sluicegate.signing.load import signing_key_path

    problems: list[str] = []
    try:
        DatabaseUrl.parse(settings.database.get_secret_value())
        if settings.signing_key is None:
            signing_key_path(settings)
    except ConfigurationError as error:
        problems.append(settings.problem(("database",), error.message))
    try:
        configure(settings, Registry.load(settings))
    except ConfigurationError as error:
        problems.extend(error.message.splitlines())
    return problems


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
