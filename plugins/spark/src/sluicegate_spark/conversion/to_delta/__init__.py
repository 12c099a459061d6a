"""Converts Iceberg tables to Delta tables."""
