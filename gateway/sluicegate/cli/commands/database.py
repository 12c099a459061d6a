"""`sluicegate database`: migrates the database, or backs it up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.output import json_option, print_json

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.plugins import Registry


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(database)


@click.group()
def database() -> None:
    """Migrate the database, or back it up.

    \b
    Example:
      sluicegate database backup /var/backups/sluicegate
    """


@database.command()
@json_option
@click.pass_context
def migrate(ctx: click.Context, as_json: bool) -> None:
    """Create or migrate the tables of the database, also those of plugins, as a start does.

    Run it before the gateways of a new version start, for example as a job of the deployment.

    \b
    Example:
      sluicegate database migrate
    """
    from sluicegate.database.migrate import HEAD
    from sluicegate.plugins import Registry

    settings = load_settings(ctx)
    registry = Registry.load(settings)
    run_async(_migrated(settings, registry))
    of_plugins = {name: made[-1].name for name, made in registry.types.migrations.items() if made}
    if as_json:
        print_json({"migration": HEAD, "plugins": of_plugins})
        return
    click.echo(f"the database has migration {HEAD}")
    for name, migration in sorted(of_plugins.items()):
        click.echo(f"the tables of the plugin '{name}' have migration {migration}")


async def _migrated(settings: Settings, registry: Registry) -> None:
    async with open_store(settings) as store:
        await store.migrate_plugins(registry.types.migrations)


@database.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@json_option
@click.pass_context
def backup(ctx: click.Context, directory: Path, as_json: bool) -> None:
    """Copy a SQLite database and its key file to DIRECTORY, while gateways use them.

    Only their owner can read the copies. Back up PostgreSQL with pg_dump.

    \b
    Example:
      sluicegate database backup /var/backups/sluicegate/2026-11-24
    """
    from sluicegate.database.backup import back_up

    source, keys = _files(load_settings(ctx))
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{directory} cannot be created: {error.strerror}") from error
    for file in keys:  # first: the database can refer to a key that is created meanwhile
        _copy_key(file, directory / file.name)
    back_up(source, directory / source.name)
    copies = [str(directory / file.name) for file in (*keys, source)]
    if as_json:
        print_json({"files": copies})
    else:
        click.echo("\n".join(copies))


def _files(settings: Settings) -> tuple[Path, list[Path]]:
    """The database, and the key file if the gateway has created one."""
    from sluicegate.database.urls import DatabaseUrl
    from sluicegate.signing.load import signing_key_path

    url = DatabaseUrl.parse(settings.database.get_secret_value())
    if url.dialect != "sqlite":
        raise ConfigurationError(f"{url.shown} is not SQLite; back it up with pg_dump")
    source = Path(url.target)
    if not source.exists():
        raise ConfigurationError(f"the database {source} does not exist yet")
    key = signing_key_path(settings)
    return source, [key] if settings.signing_key is None and key.exists() else []


def _copy_key(file: Path, copy: Path) -> None:
    from sluicegate.config.private_files import new_private_file

    with new_private_file(copy, overwrite=False, remedy="choose another directory") as write:
        write(file.read_bytes())
