"""The gateway's database: what is shared, and with whom. SQLite by default, PostgreSQL by URL."""

from sluicegate.store.engine import Store
from sluicegate.store.refusals import StatementRefused

__all__ = ["StatementRefused", "Store"]
