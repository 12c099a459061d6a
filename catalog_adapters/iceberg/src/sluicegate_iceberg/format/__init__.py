"""Iceberg tables as snapshots that Delta Sharing recipients can read, without copying a file."""
