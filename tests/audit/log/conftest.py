"""A database of each kind for an audit log."""

from support.servers.databases import database_url, postgres, store

__all__ = ["database_url", "postgres", "store"]
