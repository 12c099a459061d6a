"""Spans, metrics and logs. Exporting is off by default, and then it costs nothing."""

from sluicegate.telemetry.context import name_recipient, request_id
from sluicegate.telemetry.metrics import count
from sluicegate.telemetry.spans import span

__all__ = ["count", "name_recipient", "request_id", "span"]
