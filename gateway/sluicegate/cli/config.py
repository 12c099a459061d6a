"""`sluicegate config`: check a configuration file, or print its schema."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sluicegate.cli.context import config_path
from sluicegate.errors import ConfigurationError


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(config)


@click.group()
def config() -> None:
    """Check a configuration file, or print its schema."""


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.pass_context
def check(ctx: click.Context, file: Path | None) -> None:
    """Check FILE (or the configuration in use) as a start would, without opening anything."""
    path = file or config_path(ctx)
    problems = _problems(path)
    if problems:
        raise ConfigurationError("\n".join(problems))
    click.echo(f"{path}: ok")


def _problems(path: Path) -> list[str]:
    from sluicegate.config import load_settings
    from sluicegate.keys import signing_key_path
    from sluicegate.registry import Registry, configure
    from sluicegate.store.urls import DatabaseUrl

    settings = load_settings(path)
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
    """Print the JSON Schema of a configuration file, with the sections of all installed plugins."""
    from sluicegate.registry.report import load_installed
    from sluicegate.registry.schema import configuration_schema

    click.echo(json.dumps(configuration_schema(load_installed()), indent=2))
