"""Parses table metadata files: schemas, types, and how a table is declared to recipients."""
