"""Converts large Iceberg tables on Spark: the worker holds nothing that grows with the table."""
