"""Manages the JVM that runs Spark: process, environment, settings, and output."""

from sluicegate_spark.jvm.launch import launch

__all__ = ["launch"]
