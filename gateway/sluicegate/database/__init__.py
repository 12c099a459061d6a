"""The database of shares, recipients, and grants: SQLite by default, or PostgreSQL by URL."""

from sluicegate.database.engine import PluginConnections, Store
from sluicegate.database.refusals import StatementRefused

__all__ = ["PluginConnections", "StatementRefused", "Store"]
