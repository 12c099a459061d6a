"""Snapshots as Iceberg clients see them: schema, partitions, metadata and manifests."""
