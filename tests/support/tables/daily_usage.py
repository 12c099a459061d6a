"""The table `daily` of usage, as `COLLECT_USAGE` writes it, with random rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

LAST_DAY = date(2026, 11, 26)
_COUNTS = (
    "responses",
    "offered_files",
    "requests",
    "failed_requests",
    "late_requests",
    "read_files",
    "read_bytes",
)
SCHEMA = pa.schema(
    [("day", pa.date32())]
    + [(name, pa.string()) for name in ("recipient", "share", "schema", "table")]
    + [(name, pa.int64()) for name in _COUNTS]
)
_RECIPIENTS = ("acme", "ACME", "Zürich", "a=b%25", None)


def random_rows(seed: int, count: int) -> list[dict[str, Any]]:
    """Rows of 40 days. Those without a recipient have no table."""
    random_ = random.Random(seed)
    return [_row(random_) for _ in range(count)]


def _row(random_: random.Random) -> dict[str, Any]:
    recipient = random_.choice(_RECIPIENTS)
    named = recipient is not None
    return {
        "day": LAST_DAY - timedelta(days=random_.randrange(40)),
        "recipient": recipient,
        "share": random_.choice(("sales", "Sales", "eu.returns")) if named else None,
        "schema": random_.choice(("eu", "us")) if named else None,
        "table": random_.choice(("orders", "Lines")) if named else None,
        # Some days have offers, but no reads.
        **{name: random_.choice((0, 1, 7, 10**12)) for name in _COUNTS},
    }


def write_daily(folder: Path, rows: Sequence[dict[str, Any]], **options: Any) -> Path:
    """Append rows to the table below the directory of the tables of usage, and return its path."""
    table = folder / "daily"
    given = {"mode": "append", "partition_by": ["recipient"]} | options
    write_deltalake(str(table), pa.Table.from_pylist([*rows], SCHEMA), **given)
    return table
