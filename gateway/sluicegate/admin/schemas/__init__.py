"""Schemas of the responses of the Admin API, for its OpenAPI document."""
