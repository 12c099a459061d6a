"""The page of benchmarks describes each of them, and each can be started."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from support.process.docs import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
SPARK = ROOT / "plugins" / "spark" / "src"  # `purge` imports this plugin, which is not installed here
HELP_OF_EACH = """
from contextlib import suppress
from benchmarks.__main__ import main, names
for name in names():
    with suppress(SystemExit):
        main([name, "--help"])
"""


def described() -> list[str]:
    """The benchmarks of the table, sorted."""
    table = PAGE.read_text(encoding="utf-8").partition("## Results")[0]
    return sorted(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE))


def test_the_page_describes_each_benchmark() -> None:
    modules = {path.stem.replace("_", "-") for path in (ROOT / "benchmarks").glob("[!_]*.py")}
    assert sorted(modules) == described()


@pytest.mark.night("test_the_page_describes_each_benchmark")
def test_each_benchmark_of_the_page_can_be_started() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP_OF_EACH],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(SPARK)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    started = re.findall(r"^usage: python -m benchmarks ([\w-]+) ", done.stdout, re.MULTILINE)
    assert sorted(started) == described()
