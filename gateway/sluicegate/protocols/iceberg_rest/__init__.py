"""The Iceberg REST protocol: a read-only Iceberg catalog for each share."""
