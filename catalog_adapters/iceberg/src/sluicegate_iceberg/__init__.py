"""Supports Iceberg REST catalogs and tables in the Iceberg format."""
