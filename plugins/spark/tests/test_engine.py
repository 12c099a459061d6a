from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .spark_requirements import require_java

CASES = [Path(__file__).with_name(f"{name}_cases.py") for name in ("engine", "wave")]


@pytest.mark.jvm
def test_an_engine_stops_and_restarts_the_spark_that_it_started_and_no_other() -> None:
    require_java()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
