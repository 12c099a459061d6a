"""Migrates the database schema, also if several gateways start at the same time."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, text

from sluicegate.api.errors import ConfigurationError
from sluicegate.database.async_engine import AsyncEngine

# The newest migration. With this name, a start on a current schema doesn't have to import Alembic.
HEAD = "0023"

_MIGRATIONS = Path(__file__).parent / "migrations"
_POSTGRESQL_LOCK = 0x51_1CE6_A7E
# SQLAlchemy's inspector would keep the dialect of each engine, with all of its types, after the engine
# is closed. Each reload of the configuration opens one.
_HAS_VERSION = {
    "postgresql": "SELECT to_regclass('alembic_version') IS NOT NULL",
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'",
}


async def ensure_schema(reader: AsyncEngine, writer: AsyncEngine) -> None:
    """Run all pending migrations in one transaction.

    Raises:
        ConfigurationError: The schema is newer than this version of the gateway.
    """
    async with reader.begin() as connection:
        current = await connection.run_sync(current_migration)
    if current == HEAD:
        return
    async with writer.begin() as connection:
        if connection.dialect.name == "postgresql":
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_POSTGRESQL_LOCK})"))
        await connection.run_sync(_upgrade)


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
