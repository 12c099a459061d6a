"""A plugin's suite that has the fixture fails where a secret was written, and only there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SUITE = """
import logging
from sluicegate_testing.leaks import no_secret_leaks
from sluicegate_testing.secrets import keep_secret

def test_it():
    keep_secret("s3cr3t-of-a-store")
    logging.getLogger("sluicegate_mine").warning({said!r})
"""


@pytest.mark.parametrize(
    ("said", "code", "shown"),
    [
        ("renewed", 0, "1 passed"),
        ("renewed s3cr3t-of-a-store", 1, "secrets in what gateways wrote"),
    ],
)
def test_a_run_fails_by_what_was_logged(tmp_path: Path, said: str, code: int, shown: str) -> None:
    suite = tmp_path / "test_mine.py"
    suite.write_text(_SUITE.format(said=said))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--basetemp", str(tmp_path / "base"), str(suite)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert shown in done.stdout
