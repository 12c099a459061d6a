"""Where spans and metrics go: OTLP, and Prometheus. Imports the OpenTelemetry SDK."""
