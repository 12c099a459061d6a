"""Imports the configuration of the reference Delta Sharing server."""
