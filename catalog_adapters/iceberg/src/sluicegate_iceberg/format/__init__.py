"""Reads Iceberg tables as snapshots for Delta Sharing recipients, without copying files."""
