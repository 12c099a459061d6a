"""Reads and changes an Iceberg REST catalog: requests, responses, authentication, refusals."""
