"""Compares a Delta table with its converted Iceberg table, and writes manifests, on Spark's executors.

Spark's driver and this process hold the rows of manifest lists, and counts, but no row for each file.
Small tables are compared in this process, with the same functions.
"""
