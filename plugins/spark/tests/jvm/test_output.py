"""Output of Spark's processes: truncated, without known secrets, and never blocking."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import pytest

from sluicegate_spark.jvm.output import KnownSecrets, lines_of, log_output


def logged(output: bytes, secrets: KnownSecrets) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as printer:
        thread = log_output(os.fdopen(reading, "rb", buffering=0), secrets.hide)
        printer.write(output)
    thread.join(10)
    assert not thread.is_alive()


def test_lines_become_records_with_the_levels_of_spark(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    logged(
        b"starting\n26/11/22 17:05:10 WARN Utils: odd\n\tat java.Some\n\n"
        b"26/11/22 17:05:11 INFO Utils: well\n26/11/22 17:05:12 ERROR Utils: cut \xff",
        KnownSecrets([]),
    )
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("INFO", "starting"),
        ("WARNING", "Utils: odd"),
        ("WARNING", "\tat java.Some"),
        ("INFO", "Utils: well"),
        ("ERROR", "Utils: cut \N{REPLACEMENT CHARACTER}"),
    ]


def test_known_secrets_are_hidden_before_a_line_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    known = KnownSecrets(["of-all-tasks", "first line\nsecond line"])
    with known.of_task({"of-one-task"}):
        assert known.hide("of-one-task, of-all-tasks, second line") == "***, ***, ***"
    padding = "x" * 3_995
    logged(f"{padding}of-one-task\n".encode(), known)
    assert caplog.messages == [f"{padding}***"]


def test_a_long_line_is_cut_and_the_next_one_is_read(tmp_path: Path) -> None:
    file = tmp_path / "printed"
    file.write_bytes(b"x" * 10_000_000 + b"\nnext\nlast")
    with file.open("rb", buffering=0) as stream:
        assert [len(line) for line in lines_of(stream)] == [65_536, 4, 4]


def test_a_log_that_nobody_reads_stops_no_printer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    goes_on = threading.Event()

    def hide(text: str) -> str:
        goes_on.wait(30)
        return text

    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as printer:
        thread = log_output(os.fdopen(reading, "rb", buffering=0), hide)
        for _ in range(5_000):  # more than a pipe holds
            printer.write(b"y" * 99 + b"\n")
        goes_on.set()
    thread.join(30)
    assert any("lines of Spark's output are missing" in each for each in caplog.messages)
