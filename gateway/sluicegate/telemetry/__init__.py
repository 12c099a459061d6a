"""Spans, metrics, and logs. Export is off by default, and then has no cost."""

from sluicegate.telemetry.context import name_recipient, request_id
from sluicegate.telemetry.metrics import count, count_of_plugin
from sluicegate.telemetry.silence import silence
from sluicegate.telemetry.spans import span

__all__ = ["count", "count_of_plugin", "name_recipient", "request_id", "silence", "span"]
