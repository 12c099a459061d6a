"""A store on each kind of database."""

from support.servers.databases import database_url, postgres, store

__all__ = ["database_url", "postgres", "store"]
