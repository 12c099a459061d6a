"""Reads records: from the database, in pages, and from files."""
