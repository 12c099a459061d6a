"""A database of each kind for an audit log."""

from support.servers.databases import database_url, store

__all__ = ["database_url", "store"]
