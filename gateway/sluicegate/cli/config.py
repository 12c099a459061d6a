"""`sluicegate config`: check a configuration file, or print its schema."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sluicegate.cli.context import config_path


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
    from sluicegate.config import load_settings
    from sluicegate.registry import Registry, configure
    from sluicegate.store.urls import DatabaseUrl

    path = file or config_path(ctx)
    settings = load_settings(path)
    configure(settings, Registry.load(settings))
    DatabaseUrl.parse(settings.database.get_secret_value())
    click.echo(f"{path}: ok")


@config.command()
def schema() -> None:
    """Print the JSON Schema of a configuration file, with the sections of all installed plugins."""
    from sluicegate.registry.report import load_installed
    from sluicegate.registry.schema import configuration_schema

    click.echo(json.dumps(configuration_schema(load_installed()), indent=2))
