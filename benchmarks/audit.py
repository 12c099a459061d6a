"""CPU of the audit log for each record, beside plain lines and plain rows, in steps of 1, 8 and 64."""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from support.audit.records import numbered, opened

from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from sluicegate.audit.encoding import encode
from sluicegate.audit.records import AuditLog

_STEPS = (1, 8, 64)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--records", type=int, default=6400, help="in steps of 64 (default 6400)")


def run(options: argparse.Namespace) -> Report:
    """All write to the same disk, one after the other, and wait until each step is durable."""
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/audit.db"
        files = {"sinks": [{"type": "file", "path": str(folder / "audit")}]}
        figures = asyncio.run(_measured(url, None, options.records))
        peers = {
            "file": asyncio.run(_measured(url, files, options.records)),
            "plain_lines": _plain_lines(folder / "plain.ndjson", options.records),
            "plain_rows": _plain_rows(folder / "plain.db", options.records),
        }
    return Report(figures | {SHA256: sha256_per_cpu_second()}, peers)


async def _measured(url: str, audit: Any, records: int) -> dict[str, float]:
    """The log of a gateway, with as many clients that wait for their records as a step has records."""
    figures: dict[str, float] = {}
    async with opened(url, audit) as log:
        for step in _STEPS:
            count = records * step // _STEPS[-1]
            before = time.process_time()
            await asyncio.gather(*(_client(log, count // step) for _ in range(step)))
            figures[_name(step)] = (time.process_time() - before) / count * 1e6
    return figures


async def _client(log: AuditLog, count: int) -> None:
    for number in range(count):
        await log.write(numbered(number))


def _plain_lines(file: Path, records: int) -> Figures:
    with file.open("ab", buffering=0) as output:

        def write(bodies: list[bytes]) -> None:
            output.write(b"\n".join(bodies) + b"\n")
            os.fdatasync(output.fileno())

        return _steps(write, records)


def _plain_rows(file: Path, records: int) -> Figures:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, at INTEGER, body BLOB)")
        connection.execute("CREATE INDEX records_at ON records (at)")

        def write(bodies: list[bytes]) -> None:
            connection.execute("BEGIN IMMEDIATE")
            rows = [(number, body) for number, body in enumerate(bodies)]
            connection.executemany("INSERT INTO records (at, body) VALUES (?, ?)", rows)
            connection.execute("COMMIT")

        return _steps(write, records)


def _steps(write: Callable[[list[bytes]], None], records: int) -> Figures:
    """Write without tasks and without a chain."""
    figures: dict[str, float] = {}
    for step in _STEPS:
        count = records // _STEPS[-1]
        before = time.process_time()
        for _ in range(count):
            write([encode(numbered(number)) for number in range(step)])
        figures[_name(step)] = (time.process_time() - before) / (count * step) * 1e6
    return figures


def _name(step: int) -> str:
    return f"cpu_microseconds_per_record_of_{step}"
