"""Rows as they can be compared: without order, with how often each of them is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby

import pyarrow as pa
import pytest
from histories.fetching import Fetching
from histories.responses import FileLine, TableResponse

Rows = Counter[tuple[Hashable, ...]]


def counted(rows: pa.Table) -> Rows:
    """Rows by their values, in the order of the columns."""
    return Rows(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def assert_same(expected: Rows, found: Rows) -> None:
    """Fail with the rows that differ."""
    if expected != found:
        pytest.fail(f"missing: {dict(expected - found)}\nnot expected: {dict(found - expected)}")


def feed_rows(response: TableResponse, fetching: Fetching) -> Rows:
    """The rows of a change data feed, each with its change, version and timestamp."""
    found = Rows()
    for (version, timestamp), files in groupby(
        response.files, lambda each: (each.version, each.timestamp)
    ):
        for row, count in _changed(response, list(files), fetching).items():
            found[*row, version, timestamp] += count
    return found


def _changed(response: TableResponse, files: Sequence[FileLine], fetching: Fetching) -> Rows:
    """Rows of one version with their change: those of change files, or what the others make of it.

    A file that is removed and added again got another deletion vector.
    """
    changed = counted(fetching.rows(response, [file for file in files if file.kind == "cdf"]))
    for id in {file.id for file in files if file.kind != "cdf"}:
        added, removed = (
            counted(fetching.rows(response, [f for f in files if (f.id, f.kind) == (id, kind)]))
            for kind in ("add", "remove")
        )
        for change, rows in (("insert", added - removed), ("delete", removed - added)):
            changed.update({(*row, change): count for row, count in rows.items()})
    return changed
