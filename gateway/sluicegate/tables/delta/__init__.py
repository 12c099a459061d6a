"""Reads the Delta transaction log as Arrow columns (https://github.com/delta-io/delta/blob/master/PROTOCOL.md)."""

from sluicegate.tables.delta.format import DeltaFormat

__all__ = ["DeltaFormat"]
