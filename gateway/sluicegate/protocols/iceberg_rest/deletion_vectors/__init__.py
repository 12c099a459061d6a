"""Deletion vectors for Iceberg clients: where the table has them, or in generated Puffin files."""
