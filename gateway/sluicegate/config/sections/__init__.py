"""Sections of `gateway.yaml`."""
