"""PyIceberg plans scans of an Iceberg table by itself, from local manifests."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import BooleanExpression
from pyiceberg.expressions.parser import parse
from pyiceberg.table import Table

from benchmarks.support.iceberg_table import columns, fill


def planning_seconds(files: int, left: int, rounds: int) -> tuple[float, float]:
    """CPU seconds to plan a scan of all files, and one by a filter.

    Args:
        files: Files of the table, each with order ids of its own.
        left: Files that the filter leaves.
        rounds: Measurements, of which the median counts.
    """
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as folder:
        table = _table(Path(folder), files)
        first = files // 2
        some = parse(f"order_id >= {first} and order_id < {first + left}")
        everything = parse("true")
        assert (_planned(table, everything), _planned(table, some)) == (files, left)
        return _median(table, everything, rounds), _median(table, some, rounds)


def _table(folder: Path, files: int) -> Table:
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("bench")
    table = catalog.create_table("bench.orders", columns().schema)
    fill(table, files, numbered=True)
    return table


def _planned(table: Table, row_filter: BooleanExpression) -> int:
    return len(list(table.refresh().scan(row_filter).plan_files()))


def _median(table: Table, row_filter: BooleanExpression, rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        _planned(table, row_filter)
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)
