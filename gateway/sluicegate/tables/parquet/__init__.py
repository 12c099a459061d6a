"""Parquet files with a table's metadata: checked, then decoded within a memory budget."""
