"""Payloads of tasks: schema, limits, and the locations that they name."""
