"""The recorder of durations, and the report of what it recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from runs import report
from runs.__main__ import main
from runs.budgets import BUDGETS
from runs.records import Record, label, read
from runs.report import closing_line

ROOT = Path(__file__).resolve().parents[2]
SUITE = """
import os
import subprocess
import sys
import pytest

BUSY = "import time\\nend = time.process_time() + 0.2\\nwhile time.process_time() < end: pass"

@pytest.fixture(scope="module")
def expensive():
    exec(BUSY)

def test_starts_a_process(expensive):
    assert "SLUICEGATE_DURATIONS" not in os.environ  # tests that run tests record nothing
    subprocess.run([sys.executable, "-c", BUSY], check=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of a run of a suite with one test, one fixture, and one process."""
    place = tmp_path_factory.mktemp("run")
    (place / "test_one.py").write_text(SUITE)
    records = place / "records"
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "runs.recorder"),
            *("-p", "no:cacheprovider", str(place / "test_one.py")),
        ],
        check=True,
        cwd=place,
        env={
            **os.environ,
            "SLUICEGATE_DURATIONS": str(records),
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTEST_XDIST_WORKER": "",
        },
        stdout=subprocess.DEVNULL,
    )
    return records


def test_tests_fixtures_and_processes_are_recorded(folder: Path) -> None:
    found = {(record.kind, record.name.rpartition("::")[2]): record for record in read(folder)}
    test = found["test", "test_starts_a_process"]
    fixture = found["fixture", "expensive (module)"]
    process = found["process", f"{Path(sys.executable).name} -c"]
    assert fixture.cpu >= 0.05
    assert process.cpu >= 0.2
    assert test.cpu >= fixture.cpu
    assert process.place == fixture.place == test.name


def test_the_report_lists_areas_and_what_is_dearest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(folder.parent) == 0
    printed = capsys.readouterr().out
    assert f"# {folder.name}" in printed
    assert "expensive (module)" in printed
    assert "test_one.py::test_starts_a_process" in printed


def test_without_records_the_report_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tmp_path) == 1
    assert "no environment has run yet" in capsys.readouterr().err


def test_a_process_counts_for_the_test_that_started_it() -> None:
    records = [
        Record("test", "tests/one/test_a.py::a", "tests/one/test_a.py::a", 1, 1),
        Record("test", "tests/two/test_b.py::b", "tests/two/test_b.py::b", 1, 2),
        Record("process", "java", "tests/one/test_a.py::a", 9, 30),  # ended during b
    ]
    lines = [line.split() for line in report.report("spark", records)]
    assert ["31.0", "10.0", "2", "tests/one/test_a.py::a"] in lines
    assert ["2.0", "1.0", "1", "tests/two/test_b.py::b"] in lines


def test_the_closing_line_names_the_dearest_areas_first() -> None:
    records = [
        Record("test", "a", "tests/cheap/test_a.py::a", 1, 1),
        Record("test", "b", "plugins/s3/tests/test_b.py::b", 9, 7),
        Record("process", "c", "tests/cheap/test_a.py::a", 5, 9),
    ]
    assert closing_line("fast", records).startswith(
        "CPU seconds: 17 (dearest areas: tests/cheap 10, plugins/s3 7;"
    )


@pytest.mark.parametrize(("spent", "is_over"), [(9, False), (11, True)])
def test_the_closing_line_says_if_an_environment_is_over_its_budget(
    monkeypatch: pytest.MonkeyPatch, spent: float, is_over: bool
) -> None:
    monkeypatch.setattr(report, "BUDGETS", {"spark": 10})
    line = closing_line("spark", [Record("test", "a", "tests/cheap/test_a.py::a", 1, spent)])
    assert f"CPU seconds: {spent} of a budget of 10" in line
    assert ("too much: see CONTRIBUTING.md" in line) == is_over


def test_each_budget_is_that_of_an_environment_of_the_test_command() -> None:
    tox = ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    assert set(BUDGETS) <= {name.strip() for name in tox["tox"]["env_list"].split(",")}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ([Path("/bin/sluicegate"), "serve", "--port", "1"], "sluicegate serve"),
        (["/usr/bin/python", "-m", "sluicegate.cli", "serve"], "python -m sluicegate.cli"),
        (["python", "-c", "import this"], "python -c"),
        ("ls", "ls"),
    ],
)
def test_a_command_is_named_without_what_differs(command: list[str] | str, expected: str) -> None:
    assert label(command) == expected
