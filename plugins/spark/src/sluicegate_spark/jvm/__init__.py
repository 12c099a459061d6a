"""The JVM that Spark runs in: its process, its environment, its settings and what it prints."""

from sluicegate_spark.jvm.launch import launch

__all__ = ["launch"]
