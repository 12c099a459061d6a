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


HIDDEN = """26/11/22 17:05:10 WARN TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0) \
(192.0.2.2 executor 1): \
org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'SECRET
SECRET' of the type "STRING" cannot be cast to "INT". SQLSTATE: 22018
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.invalid(Errors.scala:145)
\t... 12 more
Caused by: java.lang.RuntimeException: SECRET
26/11/22 17:05:11 ERROR Executor: Exception in task 1.0 in stage 2.0 (TID 3)
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/worker.py", line 1, in mapped
    raise ValueError("SECRET")
ValueError: SECRET
26/11/22 17:05:12 ERROR Utils: java.net.ConnectException: Connection refused: lake:9000
26/11/22 17:05:13 WARN Utils: plain
of two lines
"""


def test_errors_of_rows_lose_the_rows_values(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    logged(HIDDEN.encode(), KnownSecrets([]))
    assert caplog.messages == [
        "TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0) (192.0.2.2 executor 1): "
        "org.apache.spark.SparkNumberFormatException: CAST_INVALID_INPUT",
        "\tat org.apache.spark.sql.errors.QueryExecutionErrors$.invalid(Errors.scala:145)",
        "\t... 12 more",
        "Caused by: java.lang.RuntimeException",
        "Executor: Exception in task 1.0 in stage 2.0 (TID 3)",
        "org.apache.spark.api.python.PythonException",
        '  File "/opt/worker.py", line 1, in mapped',
        "ValueError",
        "Utils: java.net.ConnectException: Connection refused: lake:9000",
        "Utils: plain",
        "of two lines",
    ]


def test_a_spark_that_does_not_start_says_why(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as printer:
        stream = os.fdopen(reading, "rb", buffering=0)
        thread = log_output(stream, KnownSecrets([]).hide, threading.Event())
        printer.write(b"java.lang.IllegalArgumentException: spark.driver.memory must be a size\n")
    thread.join(10)
    assert caplog.messages == ["java.lang.IllegalArgumentException: spark.driver.memory must be a size"]


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
