"""The tests as anyone who clones the repository runs them: without CI, and with nothing next to it.

Runs what can read files from outside of the repository, in a process of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
# Two tests of the list of features, one of the page about the protocol.
LEFT_OUT = {"SLUICEGATE_GOLDEN_TABLES": 4, "SLUICEGATE_SPECIFICATIONS": 1}
# Those of two modules.
LEFT_OUT_OF_TWO = 3


def run(nowhere: Path, *suites: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run suites where nothing is next to the repository."""
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    missing = {name: str(nowhere) for name in LEFT_OUT}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *suites],
        cwd=ROOT,
        env={**inherited, **missing, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_but_a_few_tests_pass_and_the_end_says_what_was_left_out(tmp_path: Path) -> None:
    assert "tests/clients/test_reader_tables.py" in SUITES
    done = run(tmp_path / "nothing", *SUITES)
    assert done.returncode == 0, done.stdout
    *_, last, summary = done.stdout.splitlines()
    assert last == "see What tests need in CONTRIBUTING.md"
    counted = re.findall(r"^left out: (\d+) tests? for [^(]*\(set (\w+)\)$", done.stdout, re.MULTILINE)
    assert {setting: int(number) for number, setting in counted} == LEFT_OUT
    # Programs can be missing on this machine, too, each with its line.
    left_out = re.findall(r"^left out: (\d+) tests? for ", done.stdout, re.MULTILINE)
    assert f"{sum(map(int, left_out))} skipped" in summary


def test_in_ci_what_is_missing_fails_and_says_how_to_have_it(tmp_path: Path) -> None:
    suites = ["tests/tables/test_reader_table_features.py", "tests/docs/test_protocol_page.py"]
    done = run(tmp_path / "nothing", *suites, CI="true")
    assert done.returncode == 1, done.stdout
    assert f"{LEFT_OUT_OF_TWO} failed" in done.stdout
    assert all(f"(set {setting})" in done.stdout for setting in LEFT_OUT)
