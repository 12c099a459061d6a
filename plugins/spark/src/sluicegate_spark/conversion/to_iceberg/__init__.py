"""Converts Delta tables to Iceberg tables."""
