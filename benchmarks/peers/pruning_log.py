"""Finds the files of a Delta table that a predicate leaves, without a gateway and without an index.

`python -m benchmarks.peers.pruning_log PEER FOLDER LOW HIGH DATES LEFT` prints the figures as JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.support.report import Figures
from benchmarks.support.usage import peak_rss_mb, rss_mb

PEERS = ("duckdb_over_checkpoint", "deltalake")
_STATISTICS = "CAST(\"add\".stats::JSON->'{bound}'->>'order_id' AS BIGINT)"
_ROUNDS = 5
_Prune = Callable[[], int]


def pruned_in_fresh_process(
    peer: str, folder: Path, low: int, high: int, dates: Sequence[str], left: int
) -> Figures:
    """CPU seconds and memory of a peer."""
    arguments = [peer, str(folder), str(low), str(high), ",".join(dates), str(left)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers.pruning_log", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: Figures = json.loads(done.stdout)
    return figures


def _duckdb(folder: Path, low: int, high: int, dates: Sequence[str]) -> Callable[[], _Prune]:
    import duckdb

    days = ", ".join(f"'{date}'" for date in dates)
    # The predicate on partitions is first, because parsing statistics takes much longer.
    query = f"""
        SELECT count(*) FROM (
            SELECT "add" FROM read_parquet('{folder}/_delta_log/*.checkpoint.parquet')
            WHERE map_extract_value("add".partitionValues, 'date') IN ({days})
        ) WHERE {_STATISTICS.format(bound="maxValues")} >= {low}
            AND {_STATISTICS.format(bound="minValues")} < {high}
    """  # noqa: S608 (all values are numbers and dates of the benchmark)

    def opened() -> _Prune:
        connection = duckdb.connect()

        def prune() -> int:
            row = connection.execute(query).fetchone()
            return 0 if row is None else int(row[0])

        return prune

    return opened


def _deltalake(folder: Path, low: int, high: int, dates: Sequence[str]) -> Callable[[], _Prune]:
    import pyarrow as pa
    import pyarrow.compute as pc
    from deltalake import DeltaTable

    def opened() -> _Prune:
        files = pa.table(DeltaTable(folder).get_add_actions(flatten=True))

        def prune() -> int:
            wanted = pc.and_(
                pc.and_(
                    pc.greater_equal(files["max.order_id"], low), pc.less(files["min.order_id"], high)
                ),
                pc.is_in(files["partition.date"].cast(pa.string()), pa.array(dates)),
            )
            return int(files.filter(wanted).num_rows)

        return prune

    return opened


def _measured(opening: Callable[[], _Prune], left: int) -> Figures:
    rest, began = rss_mb(os.getpid()), time.process_time()
    prune = opening()
    assert prune() == left
    seconds = []
    first = time.process_time() - began
    for _ in range(_ROUNDS):
        began = time.process_time()
        assert prune() == left
        seconds.append(time.process_time() - began)
    return {
        "cpu_seconds_per_request": statistics.median(seconds),
        "first_cpu_seconds": first,
        "peak_above_rest_mb": peak_rss_mb(os.getpid()) - rest,
    }


if __name__ == "__main__":
    peer, folder, low, high, dates, left = sys.argv[1:]
    make = _duckdb if peer == PEERS[0] else _deltalake
    opening = make(Path(folder), int(low), int(high), dates.split(","))
    print(json.dumps(_measured(opening, int(left))))
