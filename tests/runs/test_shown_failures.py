"""Failures are shown when they happen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITE = """
def test_one():
    assert 1 == 2, "the first reason"

def test_two():
    assert 3 == 4, "the second reason"

def test_last():
    pass
"""


def test_the_first_failure_is_shown_in_full_before_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "runs.shown_failures", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    while_it_runs, _, _ = done.stdout.partition("test_last")
    assert "AssertionError: the first reason" in while_it_runs
    assert "failed (call): test_suite.py::test_two" in while_it_runs
    assert "the second reason" not in while_it_runs
