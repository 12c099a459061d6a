"""Everybody gets the versions that are tested: pip and tox by a file, `uv run` by the project."""

from __future__ import annotations

import re
import shutil
import subprocess

from releasing.constraints import of_uv, pinned
from releasing.projects import ROOT


def test_uv_resolves_the_versions_that_are_tested() -> None:
    assert of_uv() == pinned(), "run: python tests/releasing/constraints.py"


def test_each_version_is_pinned_exactly_and_once() -> None:
    assert [each for each in pinned() if not re.fullmatch(r"[\w.-]+==[\w.]+", each)] == []
    names = {each.partition("==")[0] for each in pinned()}
    assert len(names) == len(pinned())


def test_uv_finds_a_solution_with_these_versions() -> None:
    uv = shutil.which("uv")
    assert uv, "this needs uv: pip install uv"
    done = subprocess.run(
        [uv, "lock", "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
