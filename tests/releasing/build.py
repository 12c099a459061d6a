"""Builds source distributions, and wheels from them, as an installer of the source would."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from releasing.projects import Project

_AT_ONCE = 2


class BuildFailed(Exception):
    """A distribution cannot be built; the text has the builder's own words."""


def build(projects: Sequence[Project], dist: Path) -> None:
    """Build projects into a folder, which may not have files of an earlier build."""
    uv = uv_path()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(lambda project: _build(uv, project, dist), projects):
            pass


def uv_path() -> str:
    """Where `uv` is."""
    found = shutil.which("uv")
    if found is None:
        raise BuildFailed("building distributions needs uv: pip install uv")
    return found


def _build(uv: str, project: Project, dist: Path) -> None:
    command = [uv, "build", "--quiet", "--out-dir", str(dist), str(project.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"{project.name} cannot be built:\n{done.stderr}")
