"""The REST API of the delegation service."""
