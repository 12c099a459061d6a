"""Configures telemetry, and undoes the configuration."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from sluicegate.api.errors import ConfigurationError
from sluicegate.telemetry.logs import LogFormat, configure_logging

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader

    from sluicegate.telemetry.export.prometheus import PrometheusMetrics

LogLevel = Literal["debug", "info", "warning", "error"]
Shutdown = Callable[[], None]

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def configure(
    *,
    otlp_endpoint: str | None = None,
    service_name: str = "sluicegate",
    log_format: LogFormat = "text",
    log_level: LogLevel = "info",
    process: int | None = None,
    prometheus: PrometheusMetrics | None = None,
) -> Shutdown:
    """Configure logging and, if they are enabled, the export of traces and metrics.

    Without an exporter, no OpenTelemetry SDK is imported, no provider is installed, and no thread is
    started. The SDK reads other options from its `OTEL_*` variables: sampler, batch sizes, export
    interval, headers, certificates, resource attributes.

    Returns:
        A function that undoes the configuration. It flushes, which may block for some seconds: call it
        after the event loop has ended.
    """
    stop_exporting: Shutdown | None = None
    if otlp_endpoint is not None or prometheus is not None:
        stop_exporting = _export(otlp_endpoint, service_name, process, prometheus)
    restore_logging = configure_logging(log_format, _LEVELS[log_level])

    def shutdown() -> None:
        if stop_exporting is not None:
            stop_exporting()
        restore_logging()

    return shutdown


def prometheus_metrics() -> PrometheusMetrics:
    """Return what collects the metrics of this process for Prometheus, after `configure`."""
    try:
        from sluicegate.telemetry.export.prometheus import PrometheusMetrics
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"telemetry.prometheus is set, but the Python module {error.name} is missing: "
            "pip install 'sluicegate[prometheus]', or remove telemetry.prometheus"
        ) from error
    return PrometheusMetrics()


def _export(
    endpoint: str | None,
    service_name: str,
    process: int | None,
    prometheus: PrometheusMetrics | None,
) -> Shutdown:
    if endpoint is not None and not _is_base_url(endpoint):
        raise ConfigurationError(
            "otlp_endpoint is not the base URL of a collector: write http://HOST:4318 or https://HOST"
        )
    try:
        from sluicegate.telemetry.export.providers import install

        span_processor = None
        readers: list[MetricReader] = [] if prometheus is None else [prometheus.reader]
        if endpoint is not None:
            from sluicegate.telemetry.export.otlp import exporters

            span_processor, reader = exporters(endpoint)
            readers.append(reader)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"otlp_endpoint is set, but the Python module {error.name} is missing: "
            "pip install 'sluicegate[otel]', or remove otlp_endpoint"
        ) from error
    return install(service_name, process, readers, span_processor)


def _is_base_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and port != 0
        and not (parts.query or parts.fragment)
    )
