"""Export of telemetry by commands that serve, and the listener for Prometheus (docs/adr/0064)."""
