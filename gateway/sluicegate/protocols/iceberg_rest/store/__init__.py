"""The gateway as an object store for Iceberg clients that do not send requests to be signed."""
