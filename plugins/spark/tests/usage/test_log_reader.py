"""Each line of a log file is a row or is counted, whatever the file contains."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import obstore
import pyarrow as pa
import pytest
from obstore.store import MemoryStore

from sluicegate.api import TaskFailed
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.usage.log_reader import LogReader

from .log_lines import AT, log_line

WRITTEN = datetime(2026, 11, 26, 8, tzinfo=UTC)


class Logs:
    """A store with log files, opened as tasks open it."""

    def __init__(self) -> None:
        self._store = MemoryStore()

    def open(self, location: str) -> tuple[MemoryStore, str]:
        """Return the store; some names are refused as ambiguous."""
        if ".." in location:
            raise TaskFailed("not granted", error_code="NOT_GRANTED")
        return self._store, location.removeprefix("s3a://logs/")

    def put(self, key: str, content: bytes) -> None:
        """Write a file."""
        obstore.put(self._store, key, content)

    def rows(self, *keys: str) -> list[dict[str, Any]]:
        """Return the rows of files."""
        reader = LogReader(cast("ObjectAccess", self))
        files = [{"path": f"s3a://logs/{key}", "modificationTime": WRITTEN} for key in keys]
        batches = reader([pa.RecordBatch.from_pylist(files)])
        return [row for batch in batches for row in batch.to_pylist()]

    def counts(self, *keys: str) -> dict[str, int]:
        """Return the sums of `lines` by kind."""
        found: dict[str, int] = {}
        for row in self.rows(*keys):
            found[row["kind"]] = found.get(row["kind"], 0) + row["lines"]
        return found


@pytest.fixture
def logs() -> Logs:
    return Logs()


def test_each_line_is_a_row_or_is_counted(logs: Logs) -> None:
    lines = [
        log_line(),
        log_line(operation="REST.PUT.OBJECT", request_id="B"),
        log_line(operation="REST.GET.BUCKET", request_id="C"),
        "",
        "broken",
        log_line(request_id="D", at=WRITTEN - timedelta(days=2)),
    ]
    logs.put("a", "\n".join(lines).encode())
    assert logs.counts("a") == {"read": 2, "broken": 1, "other": 2, "file": 1}
    first, broken, late, *_ = logs.rows("a")
    assert (first["at"], first["line"], first["is_late"]) == (AT, 1, False)
    assert (broken["line"], broken["content"], broken["at"]) == (5, "broken", WRITTEN)
    assert (late["line"], late["is_late"]) == (6, True)


@pytest.mark.parametrize(
    "content", [b"\x00\n" * 5_000, b"PAR1\xff\n" * 5_000, b"no log line\n" * 5_000]
)
def test_a_file_of_another_kind_is_counted_in_few_rows(logs: Logs, content: bytes) -> None:
    logs.put("a", content)
    assert logs.counts("a") == {"broken": 5_000, "file": 1}
    assert len(logs.rows("a")) == 1_002


@pytest.mark.parametrize("days", [2, -367])
def test_times_that_cannot_be_are_broken(logs: Logs, days: int) -> None:
    logs.put("a", log_line(at=WRITTEN + timedelta(days=days)).encode())
    assert logs.counts("a") == {"broken": 1, "file": 1}


def test_files_that_cannot_be_read_are_counted(logs: Logs) -> None:
    logs.put("b", log_line().encode())
    rows = logs.rows("gone", "x/../y", "b")
    reasons = [row["reason"] for row in rows if row["kind"] == "broken"]
    assert reasons == [
        "the file was deleted before it was read",
        "the name of the file is ambiguous",
    ]
    assert sum(row["kind"] == "read" for row in rows) == 1


def test_a_request_has_one_id_in_all_files(logs: Logs) -> None:
    logs.put("a", log_line().encode())
    logs.put("b", f"broken\n{log_line(agent='-')}".encode())
    ids = [row["event_id"] for row in logs.rows("a", "b") if row["kind"] == "read"]
    assert len(ids) == 2
    assert len({*ids}) == 1
    broken = [row["event_id"] for row in logs.rows("b", "b") if row["kind"] == "broken"]
    assert len({*broken}) == 1


def test_no_row_contains_a_signature(logs: Logs) -> None:
    query = "?X-Amz-Date=20261126T055900Z&X-Amz-Expires=60&X-Amz-Signature=s3cret"
    logs.put("a", f"{log_line(query=query)}\nbroken {log_line(query=query)}".encode())
    assert "s3cret" not in repr(logs.rows("a"))
