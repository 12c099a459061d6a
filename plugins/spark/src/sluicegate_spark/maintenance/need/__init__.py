"""Decides whether a table needs a task, by thresholds in the task's properties."""
