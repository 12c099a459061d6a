"""The page of benchmarks describes each of them, and each can be started."""

from __future__ import annotations

import os
import re
import subprocess
import sys

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


def test_the_page_describes_each_benchmark_that_can_be_started() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Results")[0]
    described = re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)
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
    assert started == sorted(described)
