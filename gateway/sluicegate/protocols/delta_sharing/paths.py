"""Paths of the protocol's endpoints (Delta Sharing protocol, "REST APIs")."""

PREFIX = "/delta-sharing"
TABLE = "/shares/{share}/schemas/{schema}/tables/{table}"
