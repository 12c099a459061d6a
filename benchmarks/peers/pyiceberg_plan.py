"""PyIceberg plans scans of an Iceberg table by itself, from local manifests, or reads plans."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pyiceberg.catalog.rest.scan_planning import ScanTasks
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import BooleanExpression
from pyiceberg.expressions.parser import parse
from pyiceberg.table import FileScanTask, Table

from benchmarks.support.iceberg_table import columns, fill


@dataclass(frozen=True)
class PlanningSeconds:
    """CPU seconds of PyIceberg."""

    first: float
    everything: float
    some: float


def client_seconds(tasks: Sequence[Mapping[str, Any]], rounds: int) -> float:
    """CPU seconds in which the client reads the tasks of a plan that it requested."""
    response = orjson.dumps({"file-scan-tasks": tasks})

    def read() -> None:
        found = ScanTasks.model_validate_json(response).file_scan_tasks
        assert len([FileScanTask.from_rest_response(task, []) for task in found]) == len(tasks)

    return statistics.median(_seconds(read) for _ in range(rounds))


def planning_seconds(files: int, left: int, rounds: int) -> PlanningSeconds:
    """CPU seconds to plan scans."""
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as folder:
        table = _table(Path(folder), files)
        low = files // 2
        some = parse(f"order_id >= {low} and order_id < {low + left}")
        everything = parse("true")
        first = _planning(table, everything, files)
        return PlanningSeconds(
            first,
            statistics.median(_planning(table, everything, files) for _ in range(rounds)),
            statistics.median(_planning(table, some, left) for _ in range(rounds)),
        )


def _table(folder: Path, files: int) -> Table:
    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("bench")
    table = catalog.create_table("bench.orders", columns().schema)
    fill(table, files, numbered=True)
    return table


def _planning(table: Table, row_filter: BooleanExpression, files: int) -> float:
    def plan() -> None:
        assert len(list(table.refresh().scan(row_filter).plan_files())) == files

    return _seconds(plan)


def _seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
