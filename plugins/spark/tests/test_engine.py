from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .spark_requirements import require_jars

# The first ones start the JVM, with the jars that they need.
CASES = [
    Path(__file__).with_name(f"{name}_cases.py")
    for name in ("vacuum", "engine", "wave", "orphan", "pool")
]


@pytest.mark.jvm
def test_cases_that_need_a_process_of_their_own() -> None:
    require_jars()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
