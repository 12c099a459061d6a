"""Reads which files an Iceberg table's manifest lists and manifests name."""
