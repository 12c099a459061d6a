"""Configures telemetry, and undoes the configuration."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit

from sluicegate.api.errors import ConfigurationError
from sluicegate.telemetry.logs import LogFormat, configure_logging

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
) -> Shutdown:
    """Configure logging and, if there is an endpoint, the export of traces and metrics.

    Without an endpoint, no OpenTelemetry SDK is imported, no provider is installed, and no thread is
    started. The SDK reads other options from its `OTEL_*` variables: sampler, batch sizes, export
    interval, headers, certificates, resource attributes.

    Args:
        otlp_endpoint: Base URL of an OTLP/HTTP collector (`http://collector:4318`); `None` turns the
            export off.
        service_name: Name of this service in traces and metrics.
        log_format: JSON, with one object on each line, or text.
        log_level: The least severe level that is written.
        process: Id of this process, if several serve with the same environment.

    Returns:
        A function that undoes the configuration. It flushes, which may block for some seconds: call it
        after the event loop has ended.

    Raises:
        ConfigurationError: The endpoint is not a URL, or the OpenTelemetry SDK is not installed.
    """
    stop_exporting = (
        _export(otlp_endpoint, service_name, process) if otlp_endpoint is not None else None
    )
    restore_logging = configure_logging(log_format, _LEVELS[log_level])

    def shutdown() -> None:
        if stop_exporting is not None:
            stop_exporting()
        restore_logging()

    return shutdown


def _export(endpoint: str, service_name: str, process: int | None) -> Callable[[], None]:
    if not _is_base_url(endpoint):
        raise ConfigurationError(
            "otlp_endpoint is not the base URL of a collector: write http://HOST:4318 or https://HOST"
        )
    try:
        from sluicegate.telemetry import otlp
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"otlp_endpoint is set, but the Python module {error.name} is missing: "
            "pip install 'sluicegate[otel]', or remove otlp_endpoint"
        ) from error
    return otlp.install(endpoint, service_name, process)


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
