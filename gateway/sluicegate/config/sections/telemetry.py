"""Traces, metrics and logs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sluicegate.config.model import HttpUrl, SettingsModel


class PrometheusSettings(SettingsModel):
    """A separate listener for Prometheus, without TLS and authentication."""

    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on. Every client that can connect can read the metrics, so "
        "use an address of an internal network.",
    )
    port: int = Field(
        default=9464, ge=0, le=65_535, description="Port to listen on; 0 selects a free port."
    )


class TelemetrySettings(SettingsModel):
    """Traces, metrics and logs."""

    otlp_endpoint: HttpUrl | None = Field(
        default=None,
        description="OTLP/HTTP collector for traces and metrics. If it is not set, none are sent.",
    )
    prometheus: PrometheusSettings | None = Field(
        default=None,
        description="Where Prometheus reads the metrics. If it is not set, there is no listener.",
    )
    service_name: str = Field(default="sluicegate", description="Name of this service in traces.")
    log_format: Literal["text", "json"] = Field(default="text", description="Format of log lines.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest severity that is logged."
    )
