"""Serves the gateway, and applies changes of its configuration meanwhile (docs/adr/0059)."""
