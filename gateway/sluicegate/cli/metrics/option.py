"""The option for the port on which Prometheus reads the metrics of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sluicegate.config import Settings

prometheus_option = click.option(
    "--prometheus-port",
    type=click.IntRange(0, 65_535),
    help="Port for Prometheus; 0 selects a free port. Overrides the configuration.",
)


def with_prometheus_port(settings: Settings, port: int | None) -> Settings:
    """Return the settings with the port of the command line, which also enables the listener."""
    if port is None:
        return settings
    from sluicegate.config.sections.telemetry import PrometheusSettings

    listener = settings.telemetry.prometheus or PrometheusSettings()
    telemetry = {"prometheus": listener.model_copy(update={"port": port})}
    return settings.model_copy(update={"telemetry": settings.telemetry.model_copy(update=telemetry)})
