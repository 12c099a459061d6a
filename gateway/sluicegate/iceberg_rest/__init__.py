"""The Iceberg REST door: a read-only Iceberg catalog for each share."""
