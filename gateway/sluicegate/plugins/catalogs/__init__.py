"""Protects configured catalogs: caching, limits, and pauses after failures."""
