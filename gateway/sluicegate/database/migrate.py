"""Migrates the schema and the tables of plugins, also if several gateways start at the same time."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Connection, insert, select, text

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import ConfigurationError
from sluicegate.api.gateway.plugin_data import Migration
from sluicegate.database.async_engine import AsyncConnection, AsyncEngine
from sluicegate.database.tables import plugin_migrations

# The newest migration. With this name, a start on a current schema doesn't have to import Alembic.
HEAD = "0024"

_MIGRATIONS = Path(__file__).parent / "migrations"
_POSTGRESQL_LOCK = 0x51_1CE6_A7E
_UNSAFE = re.compile(r"[^a-z0-9_]")
# SQLAlchemy's inspector would keep the dialect of each engine, with all of its types, after the engine
# is closed. Each reload of the configuration opens one.
_HAS_VERSION = {
    "postgresql": "SELECT to_regclass('alembic_version') IS NOT NULL",
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'",
}


async def ensure_schema(reader: AsyncEngine, writer: AsyncEngine) -> None:
    """Run all pending migrations in one transaction."""
    async with reader.begin() as connection:
        current = await connection.run_sync(current_migration)
    if current == HEAD:
        return
    async with _alone(writer) as connection:
        await connection.run_sync(_upgrade)


@asynccontextmanager
async def _alone(writer: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A transaction that excludes those of other processes that migrate. SQLite has one writer."""
    async with writer.begin() as connection:
        if connection.dialect.name == "postgresql":
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_POSTGRESQL_LOCK})"))
        yield connection


def current_migration(connection: Connection) -> str | None:
    """Return the current migration of the database, or `None` for an empty database."""
    if not connection.execute(text(_HAS_VERSION[connection.dialect.name])).scalar():
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
    # Alembic is slow to import, and needed only once for each new version.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    current = current_migration(connection)
    if current is not None and current not in known:
        raise ConfigurationError(
            f"its schema ({current}) is newer than this version supports ({HEAD}); upgrade sluicegate"
        )
    command.upgrade(config, "head")


async def migrate_plugins(
    reader: AsyncEngine, writer: AsyncEngine, migrations: Mapping[str, Sequence[Migration]]
) -> None:
    """Make the pending migrations of plugins, given by the plugins' names."""
    for plugin, known in migrations.items():
        async with reader.begin() as connection:
            if not await connection.run_sync(_pending, plugin, known):
                continue
        async with _alone(writer) as connection:
            await connection.run_sync(_upgrade_plugin, plugin, known)


def _pending(connection: Connection, plugin: str, known: Sequence[Migration]) -> Sequence[Migration]:
    query = select(plugin_migrations.c.migration).where(plugin_migrations.c.plugin == plugin)
    made = set(connection.execute(query).scalars())
    unknown = made - {migration.name for migration in known}
    if unknown:
        raise ConfigurationError(
            f"the tables of the plugin '{plugin}' have the migration '{max(unknown)}', which this "
            "version of the plugin lacks; upgrade the plugin"
        )
    pending = [migration for migration in known if migration.name not in made]
    if pending != list(known[len(made) :]):
        raise ConfigurationError(
            f"the plugin '{plugin}' has the new migration '{pending[0].name}' before older ones; "
            "migrations are added at the end"
        )
    return pending


def _upgrade_plugin(connection: Connection, plugin: str, known: Sequence[Migration]) -> None:
    # Alembic is slow to import, and needed only once for each new version of a plugin.
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    operations = Operations(MigrationContext.configure(connection))
    before = _tables(connection)
    for migration in _pending(connection, plugin, known):
        try:
            migration.upgrade(operations)
        except Exception as error:
            why = str(getattr(error, "orig", error)).partition("\n")[0]
            raise ConfigurationError(
                f"the migration '{migration.name}' of the plugin '{plugin}' failed: "
                f"{type(error).__name__}: {why}"
            ) from error
        connection.execute(
            insert(plugin_migrations).values(
                plugin=plugin, migration=migration.name, migrated_at=epoch_ms()
            )
        )
    _check_names(plugin, before, _tables(connection))


def _check_names(plugin: str, before: frozenset[str], after: frozenset[str]) -> None:
    prefix = _UNSAFE.sub("_", plugin.lower()) + "_"
    foreign = sorted(name for name in after - before if not name.startswith(prefix))
    if foreign:
        raise ConfigurationError(
            f"a migration of the plugin '{plugin}' creates the table '{foreign[0]}'; the names of its "
            f"tables begin with '{prefix}'"
        )
    foreign = sorted(name for name in before - after if not name.startswith(prefix))
    if foreign:
        raise ConfigurationError(
            f"a migration of the plugin '{plugin}' removes the table '{foreign[0]}', which is not the "
            "plugin's"
        )


def _tables(connection: Connection) -> frozenset[str]:
    if connection.dialect.name == "sqlite":
        found = "SELECT name FROM sqlite_master WHERE type = 'table'"
    else:
        found = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    return frozenset(connection.execute(text(found)).scalars())
