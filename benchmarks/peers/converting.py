"""Reads what a conversion of a Delta table to Iceberg compares, in one process.

`python -m benchmarks.peers.converting CONFIG` reads the tables of a JSON document, and prints figures
as JSON: `deltalake` lists the files of the Delta table, and PyIceberg reads all entries of manifests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.support.report import Figures
from benchmarks.support.usage import peak_rss_mb


def compared_in_fresh_process(
    location: str, options: Mapping[str, str], catalog: Mapping[str, str], table: str
) -> Figures:
    """CPU seconds and memory of a comparison in one process."""
    config = {"location": location, "options": options, "catalog": catalog, "table": table}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers.converting", json.dumps(config)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: Figures = json.loads(done.stdout)
    return figures


def _compare(config: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of files that each table lacks."""
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyiceberg.catalog.rest import RestCatalog

    delta = DeltaTable(config["location"], storage_options=config["options"])
    paths = pa.table(delta.get_add_actions(flatten=True)).column("path").to_pylist()
    live = {f"{config['location']}/{path}" for path in paths}
    table = RestCatalog("peer", **config["catalog"]).load_table(config["table"])
    snapshot = table.current_snapshot()
    known = {
        entry.data_file.file_path
        for manifest in (snapshot.manifests(table.io) if snapshot else ())
        for entry in manifest.fetch_manifest_entry(table.io)
    }
    return len(live - known), len(known - live)


def main() -> None:
    """Compare the tables, and print the figures."""
    began = time.process_time()
    added, removed = _compare(json.loads(sys.argv[1]))
    figures = {
        "driver_cpu_seconds": time.process_time() - began,
        "driver_rss_mb": peak_rss_mb(os.getpid()),
        "files_added": added,
        "files_removed": removed,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
