"""Newline-delimited JSON in the parquet and delta response formats."""
