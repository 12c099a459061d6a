"""Spans, metrics and logs. Off by default, and then it costs nothing."""

from sluicegate.telemetry.spans import span

__all__ = ["span"]
