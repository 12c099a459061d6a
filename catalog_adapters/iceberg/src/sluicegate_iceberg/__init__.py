"""Iceberg REST catalogs, and tables in the Iceberg format, for Sluicegate."""
