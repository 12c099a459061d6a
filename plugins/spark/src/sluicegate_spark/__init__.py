"""Runs long tasks of Sluicegate's delegation service on Apache Spark."""
