"""Sluicegate: a plugin-based data-sharing gateway in front of existing catalogs."""

__version__ = "0.2.0"
