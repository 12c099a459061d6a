"""Spans, metrics, and logs. Export is off by default, and then has no cost."""

from sluicegate.telemetry.context import name_recipient, request_id, silence
from sluicegate.telemetry.metrics import config_applied, count, count_of_plugin
from sluicegate.telemetry.spans import current_traceparent, inner_span, linked_span, span

__all__ = [
    "config_applied",
    "count",
    "count_of_plugin",
    "current_traceparent",
    "inner_span",
    "linked_span",
    "name_recipient",
    "request_id",
    "silence",
    "span",
]
