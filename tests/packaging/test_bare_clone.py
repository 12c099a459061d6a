"""The tests as anyone who clones the repository runs them: without CI, and with nothing next to it.

Runs what can read files from outside of the repository, in another process: for each change those that
are left out there, and at night also the others, which then have fewer tables.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READS_OUTSIDE = re.compile(
    r"^from support\.(?:process\.external_files|tables\.golden|(?:tables|gateways)\.reader_\w+)\b",
    re.MULTILINE,
)
# Those that need Spark run in an environment of their own.
SUITES = sorted(
    str(path.relative_to(ROOT))
    for path in ROOT.glob("tests/**/test_*.py")
    if READS_OUTSIDE.search(path.read_text(encoding="utf-8")) and "spark" not in path.parts
)
# Those whose tests are left out there.
DEPENDENT = (
    "tests/docs/test_protocol_page.py",
    "tests/tables/test_iceberg_vectors.py",
    "tests/tables/test_reader_table_features.py",
)
# Two tests of the list of features and two of vectors; one of the page about the protocol.
LEFT_OUT = {"SLUICEGATE_GOLDEN_TABLES": 4, "SLUICEGATE_SPECIFICATIONS": 1}
# Those of two modules.
LEFT_OUT_OF_TWO = 3


def run(nowhere: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as for each change, where nothing is next to the repository."""
    unwanted = ("CI", "SLUICEGATE_RANDOM_TIMES")
    inherited = {name: value for name, value in os.environ.items() if name not in unwanted}
    missing = {name: str(nowhere) for name in LEFT_OUT}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env={**inherited, **missing, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def counted(printed: str) -> dict[str, int]:
    """How many tests were left out, by the setting that the line names."""
    found = re.findall(r"^left out: (\d+) tests? for [^(]*\(set (\w+)\)$", printed, re.MULTILINE)
    return {setting: int(number) for number, setting in found}


def test_the_end_says_what_was_left_out(tmp_path: Path) -> None:
    done = run(tmp_path / "nothing", *DEPENDENT)
    assert done.returncode == 0, done.stdout
    *_, last, summary = done.stdout.splitlines()
    assert last == "see What tests need in CONTRIBUTING.md"
    assert counted(done.stdout) == LEFT_OUT
    assert f"{sum(LEFT_OUT.values())} skipped" in summary


def test_all_tests_are_collected(tmp_path: Path) -> None:
    assert "tests/clients/test_reader_tables.py" in SUITES
    assert set(DEPENDENT) <= set(SUITES)
    done = run(tmp_path / "nothing", "--collect-only", *SUITES)
    assert done.returncode == 0, done.stdout


@pytest.mark.night("test_the_end_says_what_was_left_out", "test_all_tests_are_collected")
def test_all_but_a_few_tests_pass(tmp_path: Path) -> None:
    done = run(tmp_path / "nothing", "-n", "2", *SUITES)
    assert done.returncode == 0, done.stdout
    assert counted(done.stdout) == LEFT_OUT
    # Programs can be missing on this machine, too, each with its line.
    left_out = re.findall(r"^left out: (\d+) tests? for ", done.stdout, re.MULTILINE)
    assert f"{sum(map(int, left_out))} skipped" in done.stdout.splitlines()[-1]


def test_in_ci_what_is_missing_fails_and_says_how_to_have_it(tmp_path: Path) -> None:
    suites = ["tests/tables/test_reader_table_features.py", "tests/docs/test_protocol_page.py"]
    done = run(tmp_path / "nothing", *suites, CI="true")
    assert done.returncode == 1, done.stdout
    assert f"{LEFT_OUT_OF_TWO} failed" in done.stdout
    assert all(f"(set {setting})" in done.stdout for setting in LEFT_OUT)
