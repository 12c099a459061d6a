"""A PostgreSQL server."""

from support.servers.databases import postgres

__all__ = ["postgres"]
