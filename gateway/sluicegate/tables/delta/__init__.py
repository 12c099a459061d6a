"""Reads the Delta transaction log as Arrow columns (Delta protocol)."""

from sluicegate.tables.delta.format import DeltaFormat

__all__ = ["DeltaFormat"]
